"""Compiled kernels: arrays in, arrays out. Nothing above this room knows a compiler."""
