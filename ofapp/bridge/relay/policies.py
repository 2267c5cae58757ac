"""Which port may reach which by configuration: VLAN membership, mirrors and egress checks.

Computed from the parameters and the present ports, whenever either changes; the states of the ports
are the relay's.  VIDs that the same ports carry in the same way make one class with one flood set,
named by its lowest VID: a thousand VLANs on two trunks are one class.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType

from ofapp.bridge.params.parameter import declared
from ofapp.bridge.params.params import BridgeParams, PortParams, used_lists
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, TRANSPARENT, PortVlans
from ofapp.bridge.relay.granted import Granted

_DEFAULT = PortParams()
_leaving = attrgetter(*(name for name, one in declared(PortPolicy).items() if one.leaving))
_DEFAULTS = _leaving(_DEFAULT.policy)
NONE_GRANTED: Mapping[str, Granted] = MappingProxyType({})
MANY = 256
"""A port with more VLANs than this is a trunk, and its VLANs need not be in use."""
_Signature = frozenset[tuple[int, bool]]


class PortPolicies:
    """The policies for one set of parameters and ports.

    arp_suppressed, nd_suppressed: the VLANs in which the switch answers ARP requests and neighbour
    solicitations for bound hosts.
    communities: some port of the configuration is in a community, present or not.
    aware: some port has VLANs configured, so VIDs are significant.
    checked: first-hop security checks frames of some port of the configuration, present or not.
    aggregated: the logical ports of aggregations; a frame leaves by one of their members.
    classes: the VIDs of each class, by its lowest; all other VIDs are alike.
    granted: see `Protocol.granted`.
    configured: the VLANs in the configuration, except those in long lists of a port.
    ingress_copies, egress_copies: the ports that get a copy of what a port receives and sends.
    """

    def __init__(
        self,
        params: BridgeParams,
        ports: Iterable[Port],
        fabric: int | None = None,
        granted: Mapping[str, Granted] = NONE_GRANTED,
    ) -> None:
        """fabric: the logical port of a fabric's member that leads to the others.

        It carries all VLANs, and frames leave by it as by an aggregation.
        granted: what holds in place of what is configured, by the name of the port.
        """
        self.granted = granted
        present = list(ports)
        numbers = {port.name: port.number for port in present}
        self.aggregated = frozenset(numbers[name] for name in params.lags if name in numbers)
        if fabric is not None:
            self.aggregated |= {fabric}
        alike = not (params.ports or params.numbered or params.policies.mirrors or self.aggregated)
        self._params: dict[int, PortParams] = {}
        if not alike:
            self._params = {port.number: params.port(port.name, port.number) for port in present}
        for name in granted.keys() & numbers.keys():
            number = numbers[name]
            self._params[number] = granted[name].over(params.port(name, number))
        if fabric is not None:
            self._params[fabric] = _DEFAULT
        configured = (*params.ports.values(), *params.numbered.values())
        self.checked = any(port.first_hop.checks for port in configured)
        self.communities = any(port.policy.restriction > 1 for port in configured)
        vlans = params.policies.vlans.items()
        self.arp_suppressed = frozenset(vid for vid, vlan in vlans if vlan.arp_suppress)
        self.nd_suppressed = frozenset(vid for vid, vlan in vlans if vlan.nd_suppress)
        self._lists = bool(used_lists(params))
        self._listeners = {
            numbers[mirror.to] for mirror in params.policies.mirrors if mirror.to in numbers
        }
        self._vlans = {
            number: params.vlans
            for number, params in self._params.items()
            if self.takes_part(number)
        }
        self.aware = any(not vlans.transparent for vlans in self._vlans.values())
        if alike:  # and maybe thousands
            self._vlans = dict.fromkeys((port.number for port in present), TRANSPARENT)
        self.classes = self._classes() if self.aware else {}
        self.configured = params.vlans.union(*map(_spoken_of, self._vlans.values()))
        self.ingress_copies: dict[int, tuple[int, ...]] = {}
        self.egress_copies: dict[int, tuple[int, ...]] = {}
        for mirror in params.policies.mirrors:
            to = numbers.get(mirror.to)
            if to is None:
                continue
            for names, copies in (
                (mirror.ingress, self.ingress_copies),
                (mirror.egress, self.egress_copies),
            ):
                for port in present:
                    if (names is None or port.name in names) and self.takes_part(port.number):
                        copies[port.number] = (*copies.get(port.number, ()), to)

    @property
    def trivial(self) -> bool:
        """Whether all policies are the defaults: no VLANs, lists, mirrors, aggregations, checks."""
        default = PortPolicy()
        return (
            not self.aware
            and not self.checked
            and not self.aggregated
            and not self._lists
            and all(params.policy == default for params in self._params.values())
            and (not self._listeners and not self.ingress_copies and not self.egress_copies)
        )

    @property
    def limits_unknown(self) -> bool:
        """Whether storm control limits the unknown unicast of a present port, up or down."""
        return any(each.policy.storm.unknown_unicast is not None for each in self._params.values())

    @property
    def plain(self) -> bool:
        """Whether unicast frames leave every port without egress checks and tag changes."""
        return not self.aware and not any(map(self.guarded, self._params))

    def straight(self, port: int, vid: int) -> bool:
        """Whether frames of a VLAN leave the port unchanged and without egress checks."""
        return not self.vlans(port).pops(vid) and not self.guarded(port)

    def port(self, number: int) -> PortParams:
        """A port's parameters, the defaults for one that is not present."""
        return self._params.get(number, _DEFAULT)

    def policy(self, number: int) -> PortPolicy:
        """A port's policy."""
        return self.port(number).policy

    def vlans(self, number: int) -> PortVlans:
        """A port's VLANs."""
        return self._vlans.get(number, TRANSPARENT)

    def has(self, number: int) -> bool:
        """Whether the port is present and bridges frames."""
        return number in self._vlans

    def takes_part(self, number: int) -> bool:
        """Whether the port bridges at all; one that is a monitor or shut down does not."""
        policy = self.policy(number)
        return not (policy.monitor or policy.shutdown or number in self._listeners)

    def guarded(self, number: int) -> bool:
        """Whether frames that leave the port must pass the egress table."""
        special = _leaving(self.policy(number)) != _DEFAULTS or number in self.egress_copies
        return special or number in self.aggregated

    def members(self, vid: int) -> frozenset[int]:
        """The ports that a VLAN's frames may leave by, as far as VLANs go."""
        return frozenset(number for number, vlans in self._vlans.items() if vlans.has(vid))

    def others(self) -> frozenset[int]:
        """The members of the VLANs that are in no class."""
        return frozenset(
            number
            for number, vlans in self._vlans.items()
            if vlans.transparent or vlans.vids == ALL_VIDS
        )

    def may_pass(self, port: int, to: int) -> bool:
        """Whether isolation and communities let a frame from one port out of another."""
        one, other = self.policy(port).restriction, self.policy(to).restriction
        return not (one and other) or (one == other and one != 1)

    def _classes(self) -> dict[int, frozenset[int]]:
        listed = {NO_VLAN}
        for vlans in self._vlans.values():
            if vlans.vids is not None:
                listed |= vlans.untagged | (set() if vlans.vids == ALL_VIDS else vlans.vids)
        ordinary = frozenset((number, False) for number in self.others())
        vids_by_signature: dict[_Signature, set[int]] = defaultdict(set)
        for vid in listed:
            signature = frozenset(
                (number, vlans.pops(vid)) for number, vlans in self._vlans.items() if vlans.has(vid)
            )
            if signature != ordinary:
                vids_by_signature[signature].add(vid)
        return {min(vids): frozenset(vids) for vids in vids_by_signature.values()}


def _spoken_of(vlans: PortVlans) -> frozenset[int]:
    listed = vlans.vids or frozenset()
    return vlans.untagged | (listed if len(listed) <= MANY else frozenset())
