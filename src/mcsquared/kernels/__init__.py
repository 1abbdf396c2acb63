"""Compiled kernels: functions of arrays. Numba is used in this package only."""
