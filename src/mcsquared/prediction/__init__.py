"""Predictions of a fitted model for new groups: clusters, topics and missing contexts."""
