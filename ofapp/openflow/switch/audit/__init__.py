"""Bringing a switch in line with its bridge, and checking that it stays so."""
