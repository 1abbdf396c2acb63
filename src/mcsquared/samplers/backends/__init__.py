"""Where the groups of a chain live while it sweeps: memory, shards on disk, a GPU."""
