"""Synchronization of a switch with its bridge, and checks that it stays so."""
