"""Counters that are polled from a switch, and what follows from them."""
