"""Golden runs: a refactoring must leave every label, trace and stored array as it was."""
