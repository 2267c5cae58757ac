"""Networks of a cluster's site: a namespace each for who is on them, so that any can be cut off.

Three of them, as one would have them: by `sw` members reach switches, by `et` they reach etcd, and
by `mm` each other.  Each is a bridge of Linux in a namespace of its own.  To cut somebody off is to
take their cable out of the bridge: nobody is told, frames just do not arrive any more.
"""

from __future__ import annotations

import itertools
import os

from tests.support.lab import sh

NETS = {"sw": "10.64.0", "et": "10.65.0", "mm": "10.66.0"}
_made = itertools.count(1)


class Wires:
    """The networks, and the namespaces on them."""

    def __init__(self) -> None:
        self.tag = f"oc{os.getpid() % 65536:04x}{next(_made)}"
        self._hub = f"{self.tag}hub"
        self._spaces = [self._hub]
        self._ends: dict[tuple[str, str], str] = {}  # (namespace, network) -> the hub's end
        sh("ip", "netns", "add", self._hub)
        for net in NETS:
            self._in_hub("ip", "link", "add", net, "type", "bridge", "forward_delay", 0)
            self._in_hub("ip", "link", "set", net, "up")

    def space(self, name: str) -> str:
        """A new namespace."""
        space = f"{self.tag}{name}"
        sh("ip", "netns", "add", space)
        self._spaces.append(space)
        sh("ip", "-n", space, "link", "set", "lo", "up")
        return space

    def attach(self, space: str, net: str, host: int) -> str:
        """Put a namespace on a network; gives its address there."""
        end = f"{net}{len(self._ends)}"
        self._ends[space, net] = end
        self._in_hub(
            *("ip", "link", "add", end, "up", "master", net, "type", "veth"),
            *("peer", "name", net, "netns", space),
        )
        address = f"{NETS[net]}.{host}"
        sh("ip", "-n", space, "addr", "add", f"{address}/24", "dev", net)
        sh("ip", "-n", space, "link", "set", net, "up")
        # Nobody fills in checksums on the way.
        sh("ip", "netns", "exec", space, "ethtool", "-K", net, "tx", "off")
        return address

    def cut(self, space: str, *nets: str) -> None:
        """From now on nothing passes between a namespace and these networks."""
        for net in nets:
            self._in_hub("ip", "link", "set", self._ends[space, net], "nomaster")

    def heal(self, space: str, *nets: str) -> None:
        """Put it back."""
        for net in nets:
            self._in_hub("ip", "link", "set", self._ends[space, net], "master", net)

    def close(self) -> None:
        """Remove the namespaces, as far as they are there."""
        for space in self._spaces:
            sh("ip", "netns", "del", space, check=False)

    def _in_hub(self, *command: object) -> None:
        sh("ip", "netns", "exec", self._hub, *command)
