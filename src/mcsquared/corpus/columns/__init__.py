"""Context columns: infer the kind, build in batches, convert for a family."""
