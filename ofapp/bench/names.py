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
    PROFILE = "profile"
    OCCUPANCY = "occupancy"


SAMPLED = frozenset({Measurement.PROFILE, Measurement.OCCUPANCY})
"""Measurements that need perf, and see only what this machine's processors do."""
