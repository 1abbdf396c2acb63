"""From data to a posterior: checks, chains, and the draws they kept."""
