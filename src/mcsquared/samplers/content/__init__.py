"""Resampling of groups and tokens given the globals: words, vectors, Python families."""
