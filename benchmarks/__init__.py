"""Speed and memory beside other packages, as ratios in one run: ``python -m benchmarks``."""
