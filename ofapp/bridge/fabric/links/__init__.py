"""Links between the members of a fabric: found, proven, supervised, and compared with the file."""

from ofapp.bridge.fabric.links.links import Links

__all__ = ["Links"]
