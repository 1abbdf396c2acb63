"""One column: infer its kind, build it batch by batch, convert it to what a family takes."""
