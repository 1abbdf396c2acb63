"""How groups and tokens are resampled given the globals: words, vectors, Python families."""
