"""Beacons: a protocol that a test adds to ofapp."""
