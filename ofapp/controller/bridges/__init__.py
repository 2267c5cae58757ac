"""Bridges and the connections of their switches."""
