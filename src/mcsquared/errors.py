"""The errors a user may meet: one sentence each, naming the argument and what is wanted."""

__all__ = ["InputError", "ModelFileError"]


class InputError(ValueError):
    """Data or an argument that cannot be used; the message says which, and what is wanted.

    Examples
    --------
    >>> try:
    ...     mc2.MC2(n_sweeps=0).fit([["ant", "bee"]])
    ... except mc2.InputError as error:
    ...     print(error)
    n_sweeps is 0, but a whole number of at least 1 is wanted
    """


class ModelFileError(ValueError):
    """A model file or checkpoint that cannot be read, or does not fit what it is used with.

    Examples
    --------
    >>> with open("notes.mc2", "w") as file:
    ...     _ = file.write("not a model")
    >>> try:
    ...     mc2.MC2.load("notes.mc2")
    ... except mc2.ModelFileError as error:
    ...     print(error)
    notes.mc2 ...
    """
