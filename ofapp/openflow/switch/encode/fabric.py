"""Effects on a member of a fabric to messages."""

from collections.abc import Callable, Mapping, Set
from functools import lru_cache

from ofapp.bridge.effects.fabric import DesiredFabric, FlushRemote, PutRemote, RemoveRemote
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, vlan
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.traps import PROBE
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.fabric.crossing import member_port
from ofapp.openflow.pipeline.fabric.forwarding import EXACT, Tree, Unicast, Version, versions
from ofapp.openflow.pipeline.part import NOTHING, Context, Part
from ofapp.openflow.pipeline.parts import FABRIC_KEY, part_of
from ofapp.openflow.switch.encode.learned import MAC, VID, Template
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import bundle, codec

FABRIC_FEATURES = frozenset({Feature.FABRIC, Feature.VERSION, PROBE.feature})
"""Features of the flows that `SetFabric` sets."""


class RemoteWriter:
    """Effects on hosts at other members to messages, for one ageing time in seconds, 0 for never.

    bundled: the messages are parts of a bundle of learned addresses.
    """

    def __init__(self, ageing_time: int, bundled: bool = False) -> None:
        self._ageing_time = ageing_time
        self._bundled = bundled

    def put(self, effect: PutRemote) -> bytes:
        """Add the flow of a host at another member, or change it if the switch has it."""
        encode = codec.modify_flow if effect.moved else codec.add_flow
        template = _template(encode, effect.member, self._ageing_time, self._bundled)
        return _pack(template, effect.vid, effect.mac)

    def remove(self, effect: RemoveRemote) -> bytes:
        """Delete the flow of a host at another member, if the switch has it."""
        template = _template(codec.delete_flow, 0, 0, self._bundled)
        return _pack(template, effect.vid, effect.mac)


@lru_cache(2048)
def _template(
    encode: Callable[[Flow], bytes], member: int, ageing_time: int, bundled: bool
) -> Template:
    flow = flows.remote_flow(VID, MAC, member, ageing_time)
    return Template(encode(flow), "mac", "vid", bundled=bundled)


def _pack(template: Template, vid: int, mac: int) -> bytes:
    c0, c1, c2 = template.constants
    return template.struct.pack(c0, mac.to_bytes(6, "big"), c1, vid, c2)


def version_messages(version: Version) -> list[bytes]:
    """Flow-mods that install a version.

    It has 500 flows in a fabric of 100 members, which differ mostly in the address only.
    """
    serial = version.number.to_bytes(4, "big")
    return [
        b"".join((begin, serial, middle, to.to_bytes(6, "big"), end))
        for (begin, middle, end), to in ((_message(kind), to) for kind, to in version.flows())
    ]


@lru_cache(1 << 14)
def _message(kind: Unicast | Tree) -> tuple[bytes, bytes, bytes]:
    """Return what is before the serial number, between it and the address, and behind that."""
    serial = 0x51525354
    flow = flows.version_flow(kind, MAC & EXACT, serial)
    begin, _, rest = codec.add_flow_once(flow).partition(serial.to_bytes(4, "big"))
    middle, _, end = rest.partition((MAC & EXACT).to_bytes(6, "big"))
    return begin, middle, end


class FabricWriter:
    """Encoder of a fabric's other effects, for a switch that holds what is `installed`."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed

    def set(self, fabric: DesiredFabric, context: Context) -> bytes:
        """Add a new version before frames use it, and remove an old one after that, in a bundle.

        A version of an earlier controller is not known flow by flow: it goes as a whole, before a
        new one of its number is added.
        """
        installed, content = self._installed, fabric.content
        part = self._kept_entry(fabric, part_of(fabric, context)[1])
        unknown = installed.kept - content.kept
        body = [codec.delete_version(version) for version in sorted(unknown & content.parts.keys())]
        added, removed = self._set_versions(versions(fabric), content.kept)
        if content.silent and _entry(installed.program.parts.get(FABRIC_KEY, NOTHING)) is None:
            added.append(codec.delete_entry())
        unknown -= content.parts.keys()
        removed += (codec.delete_version(version) for version in sorted(unknown))
        limits, puts, deleted, dropped = installed.exchange(FABRIC_KEY, part)
        installed.kept = content.kept
        changes = bundle.wrap([*filter(None, (*body, *added, *puts, *removed, *deleted))])
        return b"".join([*limits, changes, *dropped])

    def _kept_entry(self, fabric: DesiredFabric, part: Part) -> Part:
        """The part, with the flow by which frames enter if it stays: no other version is used."""
        entry = _entry(self._installed.program.parts.get(FABRIC_KEY, NOTHING))
        content = fabric.content
        if entry is None or content.use is not None or content.silent:
            return part
        stays = entry.serial in content.parts.keys() | content.kept
        return part._replace(flows=(*part.flows, entry)) if stays else part

    def _set_versions(
        self, wanted: Mapping[int, Version], kept: Set[int]
    ) -> tuple[list[bytes], list[bytes]]:
        """Return messages that add flows of versions, and those that remove others after that."""
        have = self._installed.program.versions
        added: list[bytes] = []
        removed: list[bytes] = []
        for number, version in wanted.items():
            old = have.get(number)
            if old == version:
                continue
            added += version_messages(version)
            if old is not None:
                left = {flow.identity for flow in flows.version_flows(version)}
                gone = [flow for flow in flows.version_flows(old) if flow.identity not in left]
                removed += map(codec.delete_flow, gone)
                self._installed.deleted(gone)
        for number in sorted(have.keys() - wanted.keys() - kept):
            removed.append(codec.delete_version(number))
            self._installed.removed += len(have[number])
        have.clear()
        have.update(wanted)
        return added, removed

    def flush(self, effect: FlushRemote) -> bytes:
        """Delete the flows of hosts at other members that fit."""
        match = () if effect.vid is None else (vlan(effect.vid),)
        port = None if effect.member is None else member_port(effect.member)
        return codec.delete_remote(TableId.DESTINATION, match, port)


def _entry(part: Part) -> Flow | None:
    """The flow by which frames enter a fabric, by a version."""
    entries = (flow for flow in part.flows if flow.feature is Feature.VERSION)
    return next(entries, None)
