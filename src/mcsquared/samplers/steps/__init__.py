"""The steps of a sweep, one file each; `mcsquared.samplers.sweep` has their order."""
