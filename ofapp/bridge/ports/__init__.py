"""Ports of a bridge: their names, links, VLANs and policies."""
