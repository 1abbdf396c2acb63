"""The errors a user may meet: one sentence each, naming the argument and what is wanted."""

__all__ = ["InputError", "ModelFileError"]


class InputError(ValueError):
    """Data or an argument that cannot be used; the message says which, and what is wanted."""


class ModelFileError(ValueError):
    """A model file or checkpoint that cannot be read, or does not fit what it is used with."""
