"""ARP and ND suppression: the switch itself answers requests for the addresses of bound hosts.

A request that is answered is not flooded.  The answer is made of the request, and enters table
`destination` as if the host had sent it: VLANs, isolation, mirrors and aggregations apply to it.
All other requests go on as without this: probes and duplicate address detection, announcements,
requests from the host's own port, for hosts whose port does not forward, and between isolated
ports.  Neighbour solicitations to one host (RFC 4861 7.3.3) never come here.
"""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.content import BoundHost
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Flow,
    Match,
    Resubmit,
    SetInPort,
    SetRegister,
    in_port,
    kept_out,
    register,
    vlan,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import guarded
from ofapp.openflow.pipeline.neighbour_requests import (
    ADVERTISEMENT,
    ARP_REQUEST,
    SOLICITATION,
    from_registers,
    suppressed,
    whole_field,
)
from ofapp.openflow.pipeline.table import Ingress, Table

_FEATURE = Feature.BINDING
ANSWERS: dict[tuple[int, int], int] = {ARP_REQUEST.place: 0, SOLICITATION.place: 1}
"""Table and priority of the flows that answer: the place of each kind in `Answered`."""
_ONWARD = TableId.DESTINATION
ASK = 390
"""Priority in table `destination`: below the copies that show the controller IP addresses."""


def ask_flows(desired: Desired) -> Iterator[Flow]:
    """The flows of table `destination` by which requests are looked up here first."""
    unasked = register(Register.ASKED, 0)
    for request, vids in suppressed(desired.port_policies):
        for vid in sorted(vids):
            match = (vlan(vid), request.to, *request.match, *request.valid, unasked)
            actions = (SetRegister(Register.ASKED, 1), Resubmit(TableId.ANSWER))
            yield Flow(_ONWARD, ASK, match, _FEATURE, actions)


def answer_flows(policies: PortPolicies, host: BoundHost) -> Iterator[Flow]:
    """The flows that know a bound host as the target of requests.

    Of hosts that share an address only the hosts know which of them answers.
    """
    upper, lower = divmod(host.mac, 1 << 32)
    holder = (
        SetRegister(Register.HOLDER, host.port),
        SetRegister(Register.SENDER, upper),
        SetRegister(Register.SENDER_LOWER, lower),
    )
    for request, vids in suppressed(policies):
        for address in host.addresses if host.vid in vids else ():
            if len(address.octets) != request.octets or not address.whole:
                continue
            if address in host.shared:
                continue
            number = int.from_bytes(address.octets, "big")
            target = (vlan(host.vid), *request.match, Match(request.target, number))
            own = (*target, Match(request.sender, number))
            # Both have the holder, so that no two hosts have the same flow: see `Installed`.
            yield Flow(TableId.ANSWER, 200, own, _FEATURE, holder, _ONWARD)
            yield Flow(TableId.ANSWER, 100, target, _FEATURE, holder, TableId.VOUCH)


def _flows(desired: Desired, _metered: bool) -> Iterator[Flow]:
    kinds = [request for request, _ in suppressed(desired.port_policies)]
    for request in kinds:
        for match in request.onward:
            yield Flow(TableId.ANSWER, 300, (*request.match, *match), _FEATURE, (), _ONWARD)
    if SOLICITATION in kinds:
        to_host = from_registers("ipv6_nd_tll")
        yield Flow(TableId.ANSWER, 400, ADVERTISEMENT, _FEATURE, to_host, _ONWARD)
    if kinds:
        yield Flow(TableId.ANSWER, 0, (), _FEATURE, (), _ONWARD)


def _vouch(desired: Desired, _metered: bool) -> Iterator[Flow]:
    if any(suppressed(desired.port_policies)):
        yield Flow(TableId.VOUCH, 0, (), _FEATURE, (), _ONWARD)


def _vouch_flows(ingress: Ingress) -> Iterator[Flow]:
    port, guard = ingress.port, guarded(ingress.port)
    if guard is None or not port.forwards:
        return
    answered = [
        request
        for request, does in ((ARP_REQUEST, guard.arp_answered), (SOLICITATION, guard.nd_answered))
        if does
    ]
    if not answered:
        return
    table, holder = TableId.VOUCH, register(Register.HOLDER, port.number)
    yield Flow(table, 300, (in_port(port.number), holder), _FEATURE, (), _ONWARD)
    for restricted in kept_out(port.policy.restriction):
        yield Flow(table, 200, (holder, restricted), _FEATURE, (), _ONWARD)
    turned = (whole_field("eth_src", "eth_dst", 48), *from_registers("eth_src"))
    marks = (
        SetRegister(Register.ISOLATED, port.policy.restriction),
        SetRegister(Register.SAMPLED, 1),
        SetInPort(port.number),
    )
    for request in answered:
        then = Resubmit(TableId.ANSWER if request is SOLICITATION else _ONWARD)
        actions = (*turned, *request.answer, *marks, then)
        yield Flow(*request.place, (*request.match, holder), _FEATURE, actions)


ANSWER = Table(
    TableId.ANSWER,
    "answer",
    "ARP requests in VLANs with `arp_suppress`, and neighbour solicitations in VLANs with "
    "`nd_suppress`: whose address is asked for. Where the switch gives no answer, the request goes "
    "on as it is.",
    (
        rule(
            "advertisement",
            400,
            "eth_type ip_proto icmpv6_type",
            _FEATURE,
            "The advertisement that table `vouch` has made of a solicitation: its option gets the "
            "MAC address of the host.",
            _ONWARD,
            "address",
        ),
        rule(
            "probe",
            300,
            "eth_type arp_op arp_spa",
            _FEATURE,
            "A probe (RFC 5227 2.1.1): onward. The host itself has to answer that.",
            _ONWARD,
        ),
        rule(
            "dad",
            300,
            "eth_type ip_proto icmpv6_type ipv6_src",
            _FEATURE,
            "Duplicate address detection (RFC 4862 5.4.2): onward. The host itself has to answer.",
            _ONWARD,
        ),
        rule(
            "bare",
            300,
            "eth_type ip_proto icmpv6_type ipv6_nd_sll",
            _FEATURE,
            "A solicitation without a link-layer address, or with several: onward. There is no "
            "option that could become that of the answer.",
            _ONWARD,
        ),
        rule(
            "announcement",
            200,
            "vlan_vid eth_type arp_op arp_tpa arp_spa",
            _FEATURE,
            "Gratuitous ARP: onward, so that all hear it, and a host defends its address.",
            _ONWARD,
            "register",
        ),
        rule(
            "bound",
            100,
            "vlan_vid eth_type arp_op arp_tpa",
            _FEATURE,
            "An address that is bound to a host: `reg9` is its port, `reg12` and `reg13` its MAC "
            "address.",
            TableId.VOUCH,
            "register",
        ),
        rule(
            "own",
            200,
            "vlan_vid eth_type ip_proto icmpv6_type ipv6_nd_target ipv6_src",
            _FEATURE,
            "A solicitation from the address that it asks for: onward.",
            _ONWARD,
            "register",
        ),
        rule(
            "bound6",
            100,
            "vlan_vid eth_type ip_proto icmpv6_type ipv6_nd_target",
            _FEATURE,
            "An IPv6 address that is bound to a host, with the same registers.",
            TableId.VOUCH,
            "register",
        ),
        rule("unknown", 0, "", _FEATURE, "Any other address: onward.", _ONWARD),
    ),
    flows=_flows,
)

VOUCH = Table(
    TableId.VOUCH,
    "vouch",
    "Whether the switch answers for a host, by the host's port.",
    (
        rule(
            "same-port",
            300,
            "in_port reg9",
            _FEATURE,
            "Asked from the port of the host itself: onward.",
            _ONWARD,
        ),
        rule(
            "isolated",
            200,
            "reg9 reg1",
            _FEATURE,
            "Asked from an isolated port, for a host on another one, or from another community: "
            "onward, and so to no such port.",
            _ONWARD,
        ),
        rule(
            "answer",
            100,
            "eth_type arp_op reg9",
            _FEATURE,
            "The request becomes the answer, which goes on as if it had come in by the port of the "
            "host.",
            actions="address register in-port resubmit",
        ),
        rule(
            "advertise",
            110,
            "eth_type ip_proto icmpv6_type reg9",
            _FEATURE,
            "The solicitation becomes an advertisement, which gets its option in table `answer`.",
            actions="address register in-port resubmit",
        ),
        rule("away", 0, "", _FEATURE, "A port that does not forward: onward.", _ONWARD),
    ),
    flows=_vouch,
    port_flows=_vouch_flows,
)
