"""The command line: mc2 demo | fit | predict | evaluate.

What a command takes stands in `app`; what it does stands in the module of its name, which is
loaded when the command runs, so that ``mc2 --help`` answers at once.
"""

from mcsquared.cli.app import app, main

__all__ = ["app", "main"]
