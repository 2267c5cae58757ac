"""A learning bridge with spanning tree and multicast snooping on stock Open vSwitch."""

__version__ = "0.4.0.dev0"
