"""Names of devices and tests on the command line; separate so that `ofapp --help` is quick."""

from __future__ import annotations

from enum import StrEnum


class Dut(StrEnum):
    """Device under test."""

    WIRE = "wire"
    LINUX = "linux"
    ROUTER = "router"
    NORMAL = "normal"
    OFAPP = "ofapp"
    EXTERNAL = "external"


LABELS = {
    Dut.WIRE: "wire",
    Dut.LINUX: "Linux bridge",
    Dut.ROUTER: "Linux router",
    Dut.NORMAL: "OVS NORMAL",
    Dut.OFAPP: "ofapp",
    Dut.EXTERNAL: "external",
}
"""What a device's label in results begins with."""


def device_of(label: str) -> Dut:
    """Return the device that a label in results names."""
    return next(dut for dut, name in LABELS.items() if label.startswith(name))


class Paper(StrEnum):
    """Paper whose tables and figures can be measured."""

    YU = "yu"
    VARIS = "varis"
    IBM = "ibm"
    FREEBSD = "freebsd"


class Duplex(StrEnum):
    """Directions of a load: one way, or both ways at once (RFC 2889 5.1.3)."""

    HALF = "half"
    FULL = "full"


class Datapath(StrEnum):
    """Datapath type of Open vSwitch."""

    SYSTEM = "system"
    NETDEV = "netdev"
    AFXDP = "afxdp"
    DPDK = "dpdk"


class Measurement(StrEnum):
    """Kind of measurement."""

    THROUGHPUT = "throughput"
    OVERLOAD = "overload"
    LATENCY = "latency"
    LOSS = "loss"
    BACK_TO_BACK = "back-to-back"
    FLOODING = "flooding"
    ADDRESSES = "addresses"
    CACHING = "caching"
    LEARNING = "learning"
    TCP = "tcp"
    UDP = "udp"
    TRANSACTIONS = "transactions"
    PAIRS = "pairs"
    PING = "ping"
    PROFILE = "profile"
    OCCUPANCY = "occupancy"


SAMPLED = frozenset({Measurement.PROFILE, Measurement.OCCUPANCY})
"""Measurements that need perf, and see only what this machine's processors do."""
