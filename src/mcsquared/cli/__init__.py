"""The command line ``mc2``.

Options are declared in `app`; each command is implemented in the module of its name, which is
imported when the command runs, so that ``mc2 --help`` stays fast.
"""

from mcsquared.cli.app import app, main

__all__ = ["app", "main"]
