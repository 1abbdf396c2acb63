"""CPU kernels, compiled by numba. Each docstring gives the equation that the kernel implements.

Arguments that have the same meaning everywhere are not documented in each kernel: ``groups`` is a
`Groups`, ``contexts`` a `GivenContexts`, ``key`` the tuple (seed, chain, sweep), and ``n_slots``
the number of topic slots.
"""
