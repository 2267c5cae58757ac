"""Utilities for all packages: the hub, token buckets, files, histories, printable names."""
