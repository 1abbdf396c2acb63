"""Samplers: the steps of a sweep, the backends that run them, and the initial states of chains."""
