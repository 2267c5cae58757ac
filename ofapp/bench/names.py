"""What can be measured, by the names that a person types; apart, for `ofapp --help` to be quick."""

from __future__ import annotations

from enum import StrEnum


class Dut(StrEnum):
    """What can be measured."""

    WIRE = "wire"
    LINUX = "linux"
    ROUTER = "router"
    NORMAL = "normal"
    OFAPP = "ofapp"
    EXTERNAL = "external"


class Datapath(StrEnum):
    """What carries the frames of an Open vSwitch."""

    SYSTEM = "system"
    NETDEV = "netdev"
    AFXDP = "afxdp"
    DPDK = "dpdk"


class Measurement(StrEnum):
    """What can be measured of it."""

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
