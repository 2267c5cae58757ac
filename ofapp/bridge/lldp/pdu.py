"""LLDPDUs in Ethernet frames: encoded (802.1AB-2016 9.1.2) and decoded (9.2.7.7).

An error in the three mandatory TLVs, or in their order, discards the frame. An error in any other
TLV discards that TLV only. Either is counted as the standard's MIB counts it.
"""

from collections import Counter
from typing import Any, NamedTuple

from ofapp.bridge.lldp import hearing, tlv
from ofapp.bridge.lldp.hearing import HOLD
from ofapp.bridge.lldp.information import (
    INTERFACE_NAME,
    MAC_CHASSIS,
    Identifier,
    Information,
    Local,
    System,
)
from ofapp.bridge.lldp.tlv import Tlv, TlvError, Type

NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
"""An address that no bridge forwards, TPMRs among them (table 7-1)."""
ETHERTYPE = b"\x88\xcc"
MOST_OCTETS = 1500
_HEADER = 14
_LEAST = 46
_BRIDGE = 1 << 2
_END = tlv.tlv(Type.END, b"")
_LISTING = bytes((hearing.SUBTYPE,))
_MANDATORY = (Type.CHASSIS_ID, Type.PORT_ID, Type.TTL)


class PduError(ValueError):
    """A frame that is discarded whole."""


class Heard(NamedTuple):
    """A decoded frame.

    proof: the value of the last TLV of the organization that was asked for, None without one;
    covered: the octets of the LLDPDU before that TLV.
    listing: the value of its TLV with a list (`hearing`), if that is covered; None without one.
    """

    information: Information
    proof: bytes | None
    covered: bytes
    listing: bytes | None = None


def time_to_live(interval: int) -> int:
    """txTTL (9.2.5.22), in seconds."""
    return min(65535, interval * HOLD + 1)


def encode(system: System, local: Local) -> bytes:
    """An LLDPDU without its end, so that a TLV that proves its sender can follow."""
    parts = [
        *_identity(system, local),
        tlv.tlv(Type.TTL, time_to_live(system.interval).to_bytes(2, "big")),
        tlv.text(Type.PORT_DESCRIPTION, local.name),
        tlv.text(Type.SYSTEM_NAME, system.name),
        tlv.text(
            Type.SYSTEM_DESCRIPTION,
            f"Open vSwitch, a bridge of ofapp, datapath id {system.datapath_id:016x}",
        ),
        tlv.capabilities(_BRIDGE),
        tlv.management_address(system.management, system.address),
    ]
    if local.pvid is not None:
        parts.append(tlv.port_vlan_id(local.pvid))
    parts += map(tlv.vlan_name, local.vlans)
    return b"".join(parts)


def shutdown(system: System, local: Local) -> bytes:
    """The LLDPDU after which neighbours forget the port at once (9.1.2.2)."""
    return b"".join([*_identity(system, local), tlv.tlv(Type.TTL, bytes(2))])


def frame(local: Local, pdu: bytes) -> bytes:
    """The Ethernet frame, without FCS, of an LLDPDU; adds its end."""
    header = NEAREST_BRIDGE + local.mac.to_bytes(6, "big") + ETHERTYPE
    return header + (pdu + _END).ljust(_LEAST, b"\0")


def decode(octets: bytes, oui: bytes, counters: Counter[str]) -> Heard:
    """Decode a frame of any octets; raises PduError.

    oui: the organization whose TLV is wanted; counters: gets `discarded` and `errors` of frames,
    `tlvs_discarded` and `tlvs_unrecognized`, as in 9.2.6.
    """
    try:
        return _decode(octets, oui, counters)
    except (PduError, TlvError) as error:
        counters["discarded"] += 1
        counters["errors"] += 1
        raise PduError(str(error)) from None


def _decode(octets: bytes, oui: bytes, counters: Counter[str]) -> Heard:
    if len(octets) < _HEADER or octets[12:_HEADER] != ETHERTYPE:
        raise PduError("it is no LLDP: a tag, or another type")
    pdu = octets[_HEADER : _HEADER + MOST_OCTETS]
    elements = tlv.tlvs(pdu)
    values: list[bytes] = []
    for wanted in _MANDATORY:
        one = next(elements, None)
        if one is None or one.type != wanted or not one.whole:
            raise PduError(f"its TLV {len(values) + 1} is not that of type {int(wanted)}")
        values.append(one.value)
    chassis, port = map(tlv.read_identifier, values[:2])
    known: dict[str, Any] = {"chassis": chassis, "port": port, "ttl": tlv.read_ttl(values[2])}
    proof, covered, listing = None, b"", None
    at = sum(2 + len(value) for value in values)
    if known["ttl"]:  # after zero the rest is ignored (9.2.7.7.1)
        faulty = False
        for one in elements:
            if one.type in _MANDATORY:
                raise PduError(f"it has two TLVs of type {one.type}")
            if one.type == Type.ORGANIZATION and one.whole and one.value[:3] == oui:
                if one.value[3:4] != _LISTING:
                    proof, covered = one.value, pdu[:at]
                elif proof is None:
                    listing = one.value
            else:
                faulty |= _take(one, known, counters)
            at += 2 + len(one.value)
        counters["errors"] += faulty
    return Heard(Information(**known), proof, covered, listing)


def _take(one: Tlv, known: dict[str, Any], counters: Counter[str]) -> bool:
    """Put the content of an optional TLV into `known`; whether it was discarded (9.2.7.7.2)."""
    try:
        if not one.whole:
            raise TlvError("its octets are not all there")
        if one.type == Type.ORGANIZATION:
            if len(one.value) < 4:
                raise TlvError("an organization without a subtype")
            ours = one.value[:3] == tlv.IEEE_8021
            if not (ours and tlv.read_8021(one.value, known)):
                counters["tlvs_unrecognized"] += 1
        elif one.type > Type.MANAGEMENT_ADDRESS:
            counters["tlvs_unrecognized"] += 1
        else:
            tlv.read_basic(one.type, one.value, known)
    except TlvError:
        counters["tlvs_discarded"] += 1
        return True
    return False


def identity(system: System, local: Local) -> tuple[Identifier, Identifier]:
    """The MSAP identifier (3.2.31) of a port."""
    chassis = Identifier(MAC_CHASSIS, system.address.to_bytes(6, "big"))
    return chassis, Identifier(INTERFACE_NAME, local.name.encode()[: tlv.MAX_TEXT] or b"-")


def _identity(system: System, local: Local) -> tuple[bytes, bytes]:
    chassis, port = identity(system, local)
    return tlv.identifier(Type.CHASSIS_ID, chassis), tlv.identifier(Type.PORT_ID, port)
