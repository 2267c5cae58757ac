"""Paths of frames through a graph of members, and changes from one plan of them to the next."""
