"""Samplers: each module has ``start`` and ``sweep``; `mcsquared.chain` alone loops."""
