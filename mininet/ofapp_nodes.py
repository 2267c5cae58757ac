"""The nodes of a lab: a switch with the right settings, a host, a bridge that is not ours."""

from pathlib import Path

from mininet.node import Host, OVSSwitch, Switch


class OfappSwitch(OVSSwitch):
    """An Open vSwitch bridge as `ofapp` wants it, in userspace unless `datapath=kernel` is given.

    `secure`: without a controller it keeps its flows, and does not become a standalone switch that
    may loop.  It opens no OpenFlow port (Mininet opens one for each switch, to any host):
    ovs-ofctl reaches the bridge by its name.
    """

    def __init__(self, name, datapath="user", **params):
        params = {"failMode": "secure", "protocols": "OpenFlow13", **params, "listenPort": None}
        OVSSwitch.__init__(self, name, datapath=datapath, **params)

    def start(self, controllers):
        for interface in self.intfList():
            self.keep_quiet(interface)
        OVSSwitch.start(self, controllers)
        self.keep_quiet(self.name)

    def attach(self, intf):
        self.keep_quiet(intf)
        OVSSwitch.attach(self, intf)

    def dpctl(self, *args):
        """ovs-ofctl in the version that the bridge speaks, which is not its default."""
        return self.cmd("ovs-ofctl -O OpenFlow13", args[0], self, *args[1:])

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


class FabricSwitch(OfappSwitch):
    """A member of a fabric: its ports to other switches have room for the outer header, and BFD."""

    MTU = 1526

    # All switches of a lab share a machine's CPU: 50 ms is for hosts of their own.
    def start(self, controllers):
        OfappSwitch.start(self, controllers)
        # Not by `cmd`: Mininet makes its bridges later, all with one command.
        for interface in self.intfList():
            if self._is_link(interface):
                bfd = "bfd:enable=true bfd:min_tx=200 bfd:min_rx=200"
                self.vsctl(f"-- set interface {interface} mtu_request={self.MTU} {bfd}")
        self.vsctl(f"-- set interface {self} mtu_request=1500")

    @staticmethod
    def _is_link(interface):
        """Whether a switch is at the other end."""
        link = interface.link
        ends = (link.intf1.node, link.intf2.node) if link else ()
        return len(ends) == 2 and all(isinstance(end, Switch) for end in ends)


class OfappHost(Host):
    """A host that fills in checksums itself: over veth to a userspace bridge nothing else does."""

    def config(self, **params):
        result = Host.config(self, **params)
        for interface in self.intfList():
            self.cmd(f"ethtool -K {interface} tx off")
        return result


class QuerierHost(OfappHost):
    """A host that can ask for multicast members, as a router would: see lab_multicast.py.

    The Linux bridge does the asking, over the one interface.  It asks from the host's address, as
    switches see no router behind 0.0.0.0; and not about IPv6, to keep the lab's tables short.
    """

    def config(self, **params):
        result = OfappHost.config(self, **params)
        port = self.defaultIntf()
        for words in (
            "add br0 type bridge mcast_query_use_ifaddr 1 mcast_query_interval 1000"
            " mcast_startup_query_interval 100 mcast_query_response_interval 20"
            " mcast_last_member_interval 20",
            f"set {port} master br0",
            "set br0 up",
        ):
            self.cmd(f"ip link {words}")
        self.cmd(f"ip addr del {self.IP()}/{port.prefixLen} dev {port}")
        self.cmd(f"ip addr add {self.IP()}/{port.prefixLen} dev br0")
        self.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        return result


class LegacyBridge(Switch):
    """A Linux bridge in its own namespace, with the spanning tree of 1998 and no controller.

    forward_delay: seconds in each of two states until a port is open (IEEE 802.1D-1998: 15, and
    from 4 on).  The other timers are the shortest that fit.
    """

    controlIntf = None  # noqa: N815 (Mininet's name)

    def __init__(self, name, forward_delay=4, **params):
        self.forward_delay = int(forward_delay)
        Switch.__init__(self, name, **{**params, "inNamespace": True})

    def start(self, controllers):
        max_age = 2 * (self.forward_delay - 1)  # 8.10.2
        self.cmd(
            f"ip link add {self} type bridge stp_state 1 hello_time 100"
            f" forward_delay {self.forward_delay * 100} max_age {max_age * 100}"
        )
        for interface in self.intfNames():
            if interface != "lo":
                self.cmd(f"ip link set {interface} master {self} up")
        self.cmd(f"ip link set {self} up")

    def stop(self, deleteIntfs=True):  # noqa: N803 (Mininet's name)
        self.cmd(f"ip link del {self}")
        super().stop(deleteIntfs)

    def connected(self):
        """Always true: it has no controller."""
        return True

    def dpctl(self, *args):
        """What a bridge has instead of flows."""
        return self.cmd("bridge", *args)
