"""Ports of a bridge: their states, links, policies, VLANs and floods."""
