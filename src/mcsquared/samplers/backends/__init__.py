"""Backends, which store and sweep the groups of a chain: memory, shards on disk, a GPU."""
