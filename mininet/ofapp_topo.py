"""What Mininet needs to know to run networks of `ofapp` bridges.

    ofapp-manager &
    mn --custom mininet/ofapp_topo.py --switch ofapp --host ofapp --controller ofapp --topo ring,4

Mininet has `single,N`, `linear,N` and `tree,DEPTH,FANOUT` itself; `ring` is added here (a loop:
not without a spanning tree).  `mn` takes every name of this file into its own globals, hence few.
"""

import socket
from pathlib import Path

from mininet.node import Host, OVSSwitch, RemoteController
from mininet.topo import Topo


class RingTopo(Topo):
    """N switches in a circle, each with some hosts."""

    def build(self, switches=4, hosts=1):
        ring = [self.addSwitch(f"s{number}") for number in range(1, switches + 1)]
        for number, switch in enumerate(ring, 1):
            for host in range(1, hosts + 1):
                name = f"h{number}" if hosts == 1 else f"h{number}x{host}"
                self.addLink(switch, self.addHost(name))
        for left, right in zip(ring, ring[1:] + ring[:1], strict=True):
            self.addLink(left, right)


class OfappSwitch(OVSSwitch):
    """An Open vSwitch bridge as `ofapp` wants it, in userspace unless `datapath=kernel` is given.

    `secure`: without a controller it keeps its flows, and does not become a switch of its own that
    may loop.
    """

    def __init__(self, name, datapath="user", **params):
        params = {"failMode": "secure", "protocols": "OpenFlow13", **params}
        OVSSwitch.__init__(self, name, datapath=datapath, **params)

    def start(self, controllers):
        for interface in self.intfList():
            self.keep_quiet(interface)
        OVSSwitch.start(self, controllers)
        self.keep_quiet(self.name)

    def attach(self, intf):
        self.keep_quiet(intf)
        OVSSwitch.attach(self, intf)

    @staticmethod
    def keep_quiet(interface):
        """Keep the machine itself out of the network.

        The userspace datapath leaves each frame to the machine's own IP stack as well, which would
        answer ARP and ping for hosts; and IPv6 would announce addresses from the port.
        """
        for setting, value in (("ipv4/conf/{}/arp_ignore", 8), ("ipv6/conf/{}/disable_ipv6", 1)):
            path = Path("/proc/sys/net", setting.format(interface))
            if str(interface) != "lo" and path.exists():
                path.write_text(f"{value}\n")


class OfappHost(Host):
    """A host that fills in checksums itself: over veth to a userspace bridge nobody else does."""

    def config(self, **params):
        result = Host.config(self, **params)
        for interface in self.intfList():
            self.cmd(f"ethtool -K {interface} tx off")
        return result


class OfappController(RemoteController):
    """An ofapp-manager that runs already, on this machine unless `ip=` is given.

    Mininet's own `remote` asks by telnet whether somebody listens, takes the OpenFlow greeting for
    UTF-8 text, and fails now and then, as the greeting carries a random number.
    """

    def __init__(self, name, ip="127.0.0.1", port=6653, **params):
        RemoteController.__init__(self, name, ip=ip, port=int(port), **params)

    def isListening(self, ip, port):  # noqa: N802 (Mininet's name)
        with socket.socket() as probe:
            probe.settimeout(5)
            return probe.connect_ex((ip, int(port))) == 0


topos = {"ring": RingTopo}
switches = {"ofapp": OfappSwitch}
hosts = {"ofapp": OfappHost}
controllers = {"ofapp": OfappController}
