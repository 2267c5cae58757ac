"""Queues to and from a switch."""
