"""Errors that users see: one sentence with the argument, the requirement and what was found."""

__all__ = ["InputError", "ModelFileError"]


class InputError(ValueError):
    """Invalid data or an invalid argument.

    Examples
    --------
    >>> try:
    ...     mc2.MC2(n_sweeps=0).fit([["ant", "bee"]])
    ... except mc2.InputError as error:
    ...     print(error)
    n_sweeps must be an integer >= 1, got 0
    """


class ModelFileError(ValueError):
    """A model file or checkpoint that cannot be read, written or used.

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
