"""Hosts of the network: labels, and when they were seen."""
