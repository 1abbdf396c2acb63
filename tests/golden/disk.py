"""Keep a small corpus on disk, in a given number of shards, as a large one would be."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from mcsquared.fitting import disk


@contextmanager
def on_disk(n_shards, n_kept):
    """Leave the corpus on disk in ``n_shards`` shards, ``n_kept`` groups of it in memory."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(disk, "bytes_of", lambda source: 10**18))
        stack.enter_context(patch.object(disk, "shards_for", lambda observations: n_shards))
        stack.enter_context(patch.object(disk, "max_in_memory", lambda source: n_kept))
        yield
