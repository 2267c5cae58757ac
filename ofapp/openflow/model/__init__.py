"""Flows, rules, groups and cookies as values."""
