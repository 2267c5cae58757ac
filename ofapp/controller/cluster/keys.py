"""Where in etcd a cluster has what: one folder for each cluster, so that one etcd serves several.

/ofapp/CLUSTER/owners/DPID                     claims of switches, under the members' leases
/ofapp/CLUSTER/members/MEMBER                  who is there, under its lease
/ofapp/CLUSTER/drained/MEMBER                  who is drained
/ofapp/CLUSTER/secret                          what members sign with that ask each other
/ofapp/CLUSTER/wanted/DPID/MEMBER              who asks for a switch, under that one's lease
/ofapp/CLUSTER/unheard/DPID/MEMBER             who finds that the owner does not reach a switch
/ofapp/CLUSTER/bases/DPID                      what is added to the terms of a switch
/ofapp/CLUSTER/state/bridges/DPID/entries...   what outlives a controller, of each bridge
/ofapp/CLUSTER/state/common/tokens.json        and of all
/ofapp/CLUSTER/configuration/current           the file that all members do as
/ofapp/CLUSTER/configuration/offered           and one that is to be
/ofapp/CLUSTER/running/MEMBER                  which revision of it a member runs
"""

from __future__ import annotations

import re
from typing import NamedTuple

ROOT = "/ofapp"
CLUSTER = "default"

_BRIDGES = re.compile(r"([a-z]+)-([0-9a-f]{16})(\.json.*)")
_SAID = re.compile(r"([0-9a-f]{16})/([^/]+)")


class Said(NamedTuple):
    """What one member says of one switch, which its key alone tells: `wanted`, `unheard`."""

    datapath_id: int
    member: str

    @classmethod
    def read(cls, folder: str, key: str) -> Said | None:
        """None for a key that is none of these."""
        parts = _SAID.fullmatch(key.removeprefix(folder))
        return cls(int(parts[1], 16), parts[2]) if parts else None

    def key(self, folder: str) -> str:
        """Where it is said."""
        return f"{folder}{self.datapath_id:016x}/{self.member}"


class Keys(NamedTuple):
    """Those of one cluster."""

    cluster: str = CLUSTER

    @property
    def root(self) -> str:
        """What all begin with."""
        return f"{ROOT}/{self.cluster}/"

    @property
    def owners(self) -> str:
        """What the claims of all switches begin with."""
        return f"{self.root}owners/"

    def owner(self, datapath_id: int) -> str:
        """The claim of a switch."""
        return f"{self.owners}{datapath_id:016x}"

    @property
    def wanted(self) -> str:
        """What members ask each other for begins so."""
        return f"{self.root}wanted/"

    @property
    def unheard(self) -> str:
        """What members tell each other of switches that they do not reach begins so."""
        return f"{self.root}unheard/"

    def base(self, datapath_id: int) -> str:
        """What is added to the terms of a switch."""
        return f"{self.root}bases/{datapath_id:016x}"

    def bridge(self, datapath_id: int) -> str:
        """What the documents of a bridge begin with."""
        return f"{self.root}state/bridges/{datapath_id:016x}/"

    @property
    def common(self) -> str:
        """What the documents of no bridge begin with."""
        return f"{self.root}state/common/"

    @property
    def configuration(self) -> str:
        """What is about the configuration that is pushed begins so."""
        return f"{self.root}configuration/"

    @property
    def current(self) -> str:
        """The one that all members do as."""
        return f"{self.configuration}current"

    @property
    def offered(self) -> str:
        """One that all members are to try."""
        return f"{self.configuration}offered"

    @property
    def running(self) -> str:
        """What the members say of the configuration begins so."""
        return f"{self.root}running/"

    def of(self, name: str) -> str:
        """A document's, by the name that it has as a file: `entries-DPID.json`."""
        if named := _BRIDGES.fullmatch(name):
            kind, bridge, rest = named.groups()
            return f"{self.root}state/bridges/{bridge}/{kind}{rest}"
        return self.common + name

    def name(self, key: str) -> str:
        """The other way round."""
        *_, folder, last = key.split("/")
        if key.startswith(self.common):
            return last
        kind, dot, rest = last.partition(".")
        return f"{kind}-{folder}{dot}{rest}"
