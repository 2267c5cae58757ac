"""Hosts: the list of them, the search, and vendors of network cards."""
