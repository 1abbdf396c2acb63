"""Compiled kernels: functions of arrays. Only this package uses a compiler."""
