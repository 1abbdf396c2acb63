"""Where a chain starts."""
