"""The command line ``mc2``.

Options are declared in `app`; a command is implemented in the module of its name. What it needs is
imported when the command runs, so that ``mc2 --help`` stays fast.
"""

from mcsquared.cli.app import app, main

__all__ = ["app", "main"]
