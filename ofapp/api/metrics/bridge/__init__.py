"""Metrics of a bridge, one module per subject."""
