"""Kernels for the processor, in numba. Each names the equation it implements.

Arguments that always have the same type are not listed in each docstring: ``groups`` is a `Groups`,
``contexts`` a `GivenContexts`, ``key`` the tuple (seed, chain, sweep), and so on.
"""
