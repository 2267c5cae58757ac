"""Diagnosis of the ports of a bridge: their links, addresses, settings and MTUs.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from ofapp.host_setup.finding import Finding
from ofapp.host_setup.state import Bridge, BridgePort, Host, Link
from ofapp.host_setup.wanted import USERSPACE_UPLINK, movable


def port(host: Host, bridge: Bridge, port: BridgePort) -> Iterator[Finding]:
    """Find what is wrong with one port."""
    name = port.name
    if port.error or port.number == -1:
        yield Finding(
            name,
            f"Open vSwitch cannot use it: {port.error or 'no OpenFlow port'}",
            f"ovs-vsctl del-port {bridge.name} {name} (or fix what it says)",
        )
        return
    link = host.link(name)
    if link is None or port.type not in {"", "afxdp"}:
        return
    if not link.state.up:
        yield Finding(name, "is down", f"ip link set {name} up")
    elif _bridge_of(host, link) is not None:
        yield Finding(
            name,
            f"is a port of the Linux bridge {link.master} as well, which takes its frames",
            f"ip link set {name} nomaster",
        )
    elif not link.carrier and link.kind != "tun":
        yield Finding(name, "has no carrier", "see to its cable", fatal=False)
    elif not link.promiscuous:
        yield Finding(
            name,
            "is not promiscuous: frames for other hosts do not reach the bridge",
            f"ip link set {name} promisc on",
        )
    if link.kind != "tun" or movable(link.state):
        yield from _addresses(bridge, link)
    if bridge.datapath == "netdev":
        yield from _userspace(host, bridge, link)


def _bridge_of(host: Host, link: Link) -> Link | None:
    """The Linux bridge that has the link; None without one."""
    master = None if link.master is None else host.link(link.master)
    return master if master is not None and master.kind == "bridge" else None


def _addresses(bridge: Bridge, link: Link) -> Iterator[Finding]:
    for address in movable(link.state):
        yield Finding(
            link.name,
            f"has the address {address}, which belongs on {bridge.name}",
            "ofapp deploy apply moves it"
            if bridge.ours
            else f"ip addr del {address} dev {link.name}; ip addr add {address} dev {bridge.name}",
        )


def _userspace(host: Host, bridge: Bridge, link: Link) -> Iterator[Finding]:
    """Find problems of userspace datapaths: the kernel still processes the same frames."""
    name = link.name
    if link.state.offloads:
        off = {"rx-gro": "gro", "rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"}
        words = " ".join(f"{off[feature]} off" for feature in link.state.offloads)
        yield Finding(
            name,
            "joins received frames, and the userspace datapath drops what is longer than the MTU",
            f"ethtool -K {name} {words}",
            fatal=False,
        )
    other = next((each for each in host.links if each.index == link.other_end), None)
    sender = None if other is None else host.switch.holder(other.name)
    whole = sender is not None and sender.datapath == "netdev"  # it sends frames with checksums
    if link.kind == "veth" and other is not None and other.checksums_later and not whole:
        yield Finding(
            other.name,
            f"leaves checksums to hardware, and is a veth: its frames reach {name} without one, and"
            " the userspace datapath does not fill it in",
            f"ethtool -K {other.name} tx off",
            fatal=False,
        )
    settings = dict(link.state.settings)
    wrong = {
        key: value
        for key, value in USERSPACE_UPLINK.items()
        if key in settings and not settings[key] >= value
    }
    if wrong and any(movable(other.state) for other in host.links if not other.loopback):
        words = " ".join(
            f"net.{key.partition('/')[0]}.conf.{name}.{key.partition('/')[2]}={value}"
            for key, value in wrong.items()
        )
        yield Finding(
            name,
            "the host's own stack sees the frames of this port as well, and answers ARP, pings and"
            f" TCP beside {bridge.name}",
            f"sysctl -w {words}",
            fatal=False,
        )


def local(host: Host, bridge: Bridge) -> Iterator[Finding]:
    """Find whether LOCAL is down."""
    link = host.link(bridge.name)
    if link is not None and not link.state.up and bridge.ours:
        yield Finding(
            bridge.name,
            "its LOCAL port is down, and with it this host",
            f"ofapp deploy recover, or ip link set {bridge.name} up",
        )


def mtus(host: Host, bridge: Bridge, links: Set[str]) -> Iterator[Finding]:
    """Compare MTUs; links: link ports of a fabric, whose MTU is larger."""
    mtus = {port.name: port.mtu for port in bridge.ports if port.mtu and port.name not in links}
    local = host.link(bridge.name)
    if local is not None and local.state.mtu:
        mtus[bridge.name] = local.state.mtu
    if len(set(mtus.values())) > 1:
        # LOCAL follows the least MTU of the ports, unless its own was set.
        counts = Counter(mtu for name, mtu in mtus.items() if name != bridge.name)
        usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
        others = [name for name, mtu in mtus.items() if mtu != usual and name != bridge.name]
        if not others:
            usual, others = mtus[bridge.name], [*mtus.keys() - {bridge.name}]
        sizes = ", ".join(f"{name} {mtu}" for name, mtu in mtus.items())
        fixes = (f"ovs-vsctl set interface {name} mtu_request={usual}" for name in sorted(others))
        yield Finding(
            bridge.name,
            f"MTUs differ ({sizes}): a frame that is too long for a port is dropped without a word",
            "; ".join(fixes),
            fatal=False,
        )
