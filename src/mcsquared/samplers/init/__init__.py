"""Initial states of chains."""
