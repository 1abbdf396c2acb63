"""The command line ``mc2``.

Options are declared in `app`. Commands import their implementation when they run, so that
``mc2 --help`` is fast.
"""

from mcsquared.cli.app import app, main

__all__ = ["app", "main"]
