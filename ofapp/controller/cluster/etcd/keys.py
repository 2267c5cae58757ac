"""Layout of a cluster's keys in etcd: one folder for each cluster, so one etcd serves several.

/ofapp/CLUSTER/owners/DPID                     claims of switches, under the members' leases
/ofapp/CLUSTER/members/MEMBER                  a present member, under its lease
/ofapp/CLUSTER/drained/MEMBER                  a drained member
/ofapp/CLUSTER/secret                          secret that keys for LLDP are derived from
/ofapp/CLUSTER/wanted/DPID/MEMBER              request for a switch, under that member's lease
/ofapp/CLUSTER/unheard/DPID/MEMBER             report that the owner does not reach a switch
/ofapp/CLUSTER/bases/DPID                      offset of a switch's generation_ids
/ofapp/CLUSTER/state/bridges/DPID/entries...   stored documents of each bridge
/ofapp/CLUSTER/state/common/tokens.json        stored documents of no bridge
/ofapp/CLUSTER/configuration/current           configuration of all members
/ofapp/CLUSTER/configuration/offered           configuration to be checked by all members
/ofapp/CLUSTER/running/MEMBER                  its revision that a member runs
/ofapp/CLUSTER/history                         number of etcd's history (`history`)
/ofapp/CLUSTER/copied/...                      age of a copy that was written back
"""

from __future__ import annotations

import re
from typing import NamedTuple

ROOT = "/ofapp"
CLUSTER = "default"

_BRIDGES = re.compile(r"([a-z]+)-([0-9a-f]{16})(\.json.*)")
_DOCUMENT = re.compile(r"([0-9a-f]{16})/")
_SWITCH = re.compile(r"[0-9a-f]{16}")
_STATEMENT = re.compile(r"([0-9a-f]{16})/([^/]+)")


class Statement(NamedTuple):
    """A member's statement about a switch, contained in its key alone: `wanted`, `unheard`."""

    datapath_id: int
    member: str

    @classmethod
    def read(cls, folder: str, key: str) -> Statement | None:
        """Parse a key; None if it is not such a statement."""
        parts = _STATEMENT.fullmatch(key.removeprefix(folder))
        return cls(int(parts[1], 16), parts[2]) if parts else None

    def key(self, folder: str) -> str:
        """The key of this statement."""
        return f"{folder}{self.datapath_id:016x}/{self.member}"


class Keys:
    """The keys of one cluster, and prefixes of keys, which end with a slash."""

    def __init__(self, cluster: str = CLUSTER) -> None:
        self.cluster = cluster
        self.root = root = f"{ROOT}/{cluster}/"
        self.owners = f"{root}owners/"
        self.members = f"{root}members/"
        self.drained = f"{root}drained/"
        self.secret = f"{root}secret"
        self.history = f"{root}history"
        self.wanted = f"{root}wanted/"
        self.unreachable = f"{root}unheard/"
        self.common = f"{root}state/common/"
        self.configuration = f"{root}configuration/"
        self.current = f"{self.configuration}current"
        self.offered = f"{self.configuration}offered"
        self.running = f"{root}running/"

    def owner(self, datapath_id: int) -> str:
        """Key of the claim of a switch."""
        return f"{self.owners}{datapath_id:016x}"

    def claimed(self, key: str) -> int | None:
        """The switch of a claim's key; None for other keys."""
        switch = key.removeprefix(self.owners)
        return int(switch, 16) if _SWITCH.fullmatch(switch) else None

    def copied(self, key: str) -> str:
        """Key of the age of a key's copy that was written back."""
        return f"{self.root}copied/{key.removeprefix(self.root)}"

    def lasts(self, key: str) -> bool:
        """Whether a key outlives the members, and so is written back if etcd lost it."""
        folders = f"{self.root}state/", self.drained
        return key.startswith(folders) or key in (self.current, self.secret)

    def owner_of(self, key: str) -> str | None:
        """Key of the claim of the switch that a document belongs to; None for other keys."""
        bridge = _DOCUMENT.match(key.removeprefix(f"{self.root}state/bridges/"))
        return None if bridge is None else self.owners + bridge[1]

    def base(self, datapath_id: int) -> str:
        """Key of the offset of a switch's generation_ids."""
        return f"{self.root}bases/{datapath_id:016x}"

    def bridge(self, datapath_id: int) -> str:
        """Prefix of the documents of a bridge."""
        return f"{self.root}state/bridges/{datapath_id:016x}/"

    def of(self, name: str) -> str:
        """Key of a document, by its file name: `entries-DPID.json`."""
        if named := _BRIDGES.fullmatch(name):
            kind, bridge, rest = named.groups()
            return f"{self.root}state/bridges/{bridge}/{kind}{rest}"
        return self.common + name

    def name(self, key: str) -> str:
        """File name of a document, by its key."""
        *_, folder, last = key.split("/")
        if key.startswith(self.common):
            return last
        kind, dot, rest = last.partition(".")
        return f"{kind}-{folder}{dot}{rest}"
