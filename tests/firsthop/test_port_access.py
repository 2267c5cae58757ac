"""Real supplicants and FreeRADIUS on controlled ports of a real switch.

The server and the controller are in the switch's namespace; each host has its own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from ofapp.bridge.port_access import eapol
from tests.support.firsthop.bed import Pings
from tests.support.firsthop.daemon import Daemon
from tests.support.lab import Host, Wire
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.radius import PASSWORD, SECRET, Radius, Supplicant
from tests.support.supplicants import Supplicants
from tests.support.waiting import wait_for

USERS = f"""
alice Cleartext-Password := "{PASSWORD}"
bob Cleartext-Password := "{PASSWORD}"
    Tunnel-Type = VLAN, Tunnel-Medium-Type = IEEE-802, Tunnel-Private-Group-Id = "20"
dave Cleartext-Password := "{PASSWORD}"
    Filter-Id = "quiet", WISPr-Bandwidth-Max-Up = 5000000, Egress-VLANID = 0x31000014,
    WISPr-Bandwidth-Max-Down = 7000000
erin Cleartext-Password := "{PASSWORD}"
    Session-Timeout = 20
carol Auth-Type := Reject
    Reply-Message = "account expired"
020a00000005 Cleartext-Password := "020a00000005"
"""

VLAN_20 = b"\x81\x00\x00\x14"
LISTS = {
    "quiet": [
        {"name": "no-ping", "match": {"ip_proto": "icmp"}, "action": "drop"},
        {"name": "rest", "match": {}, "action": "allow"},
    ],
    "all": [{"name": "rest", "match": {}, "action": "allow"}],
}

RESULTS = {eapol.SUCCESS: "SUCCESS", eapol.FAILURE: "FAILURE"}
MD5 = {"eap": "MD5", "identity": '"alice"', "password": f'"{PASSWORD}"'}


class Site:
    """A switch with a gateway, and hosts on controlled ports eth2 to eth9.

    port: parameters of access control there.
    """

    users = USERS

    def __init__(self, stack: ExitStack, **port: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="auth-site-"))
        stack.callback(shutil.rmtree, self.folder)
        self._stack, self._unnamed = stack, count(40)
        self.switch = OwnSwitch(Path(shutil.which("ovs-vswitchd") or ""))
        stack.callback(self.switch.close)
        self.switch.start()
        self.radius = Radius(self.switch.namespace, self.folder, self.users)
        stack.callback(self.radius.stop)
        self.radius.start()
        self.controller = ControllerInside(self.switch.namespace, self.config(**port))
        stack.callback(self.controller.close)
        self.controller.start()
        self.up = self.host(1, "gw")
        self.switch.vsctl("set-controller", BRIDGE, self.controller.target)
        self.switch.vsctl("set", "Controller", BRIDGE, "max_backoff=1000")
        self.controller.wait_ready(self.switch.bridge)

    def config(self, **port: Any) -> str:
        """The configuration file, with other parameters of controlled ports."""
        access = {"authentication": "dot1x", "tx_period": 1, "max_requests": 2, "quiet_period": 5}
        section = {
            "enabled": True,
            "servers": "127.0.0.1",
            "secret_file": str(self.radius.secret_file),
            "server_timeout": 1,
            "accounting": True,
            "dynamic_port": 3799,
        }
        many = {"vlan": 10, "port_access": {**access, "authentication": "dot1x"}}
        ports = {
            "a*": many,
            "gw": {"vlan": {"trunk": [10, 20], "native": 10}},
            "eth*": {"vlan": 10, "port_access": {**access, **port}},
        }
        settings = {"port_access": section, "ports": ports, "stp": {"enabled": False}}
        settings["acls"] = LISTS
        self.meet(settings)
        return yaml.safe_dump({"bridges": {f"{self.switch.dpid:016x}": settings}})

    def meet(self, settings: dict[str, Any]) -> None:
        """Add other features to the settings of the bridge."""

    def host(self, number: int | None = None, plug: str = "") -> Host:
        """A host on a port.  number: of both; None: the next one of those that no test names."""
        number = next(self._unnamed) if number is None else number
        name = plug or f"eth{number}"
        host = self.switch.host(number, name)
        self.switch.add_port(name, number)
        return host

    def supplicant(self, host: Host, network: dict[str, str]) -> Supplicant:
        """wpa_supplicant on a host."""
        made = Supplicant(host, self.folder, network)
        self._stack.callback(made.close)
        return made

    @property
    def path(self) -> str:
        """The resource of access control."""
        return f"/v1/bridges/{self.switch.bridge.dpid16}/port-access"

    def known(self, host: Host) -> dict[str, Any] | None:
        """A host as the API has it."""
        hosts = self.controller.get(self.path)["hosts"]
        return next((one for one in hosts if one["mac"] == host.mac), None)

    def wait_phase(self, host: Host, phase: str, seconds: float = 20) -> dict[str, Any]:
        """Wait until a host is in a phase."""

        def there() -> dict[str, Any] | None:
            known = self.known(host)
            return known if known is not None and known["phase"] == phase else None

        found = wait_for(there, f"{host.namespace} to be {phase}", seconds=seconds)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(stack, authentication="dot1x_mab")


@pytest.mark.parametrize(
    ("number", "network"),
    [
        (2, MD5),
        (3, {"eap": "TLS", "identity": '"alice"'}),
        (4, {"eap": "PEAP", "identity": '"alice"', "password": f'"{PASSWORD}"'}),
        (6, {"eap": "TTLS", "identity": '"alice"', "password": f'"{PASSWORD}"'}),
    ],
    ids=["md5", "tls", "peap", "ttls"],
)
def test_a_host_is_closed_out_until_it_is_authenticated(
    site: Site, number: int, network: dict[str, str]
) -> None:
    host = site.host(number)
    assert not host.reaches(site.up.ip, seconds=1)
    files = site.folder
    if network["eap"] != "MD5":
        network = network | {"ca_cert": f'"{files}/ca.pem"'}
    if network["eap"] == "TLS":
        network |= {"client_cert": f'"{files}/user.pem"', "private_key": f'"{files}/user.key"'}
    if network["eap"] == "TTLS":
        network |= {"phase2": '"auth=PAP"'}
    if network["eap"] == "PEAP":
        network |= {"phase2": '"auth=MSCHAPV2"'}
    # The host has been refused by its address meanwhile: an operator lets it try at once.
    site.controller.api("POST", f"{site.path}/clear", {"mac": host.mac})
    supplicant = site.supplicant(host, network)
    supplicant.wait()
    wait_for(lambda: host.reaches(site.up.ip), "the host to be admitted")
    known = site.known(host)
    assert known is not None
    assert (known["user"], known["method"], known["authorised"]) == ("alice", "dot1x", True)


Step = tuple[str, bool, int, int, int, int]
"""A frame of 802.1X as a host sees it: its direction, whether it is to the host and not to a group,
version and type of EAPOL, code and method of EAP."""


def steps(wire: Wire) -> list[Step]:
    """The exchange from the request for an identity that the host has answered on."""
    found: list[Step] = []
    for came_in, frame in wire.passed():
        if frame[12:14] == eapol.ETHERTYPE and frame[15] == eapol.EAP:
            code, method = frame[18], frame[22] if frame[18] <= eapol.RESPONSE else 0
            to_host = not frame[0] & 1
            found.append(("in" if came_in else "out", to_host, frame[14], frame[15], code, method))
    answered = next(at for at, step in enumerate(found) if step[0] == "out")
    return found[answered - 1 :]


@pytest.mark.parametrize(
    ("number", "network"),
    [
        (12, MD5),
        (14, MD5 | {"eap": "PEAP", "phase2": '"auth=MSCHAPV2"'}),
        (16, MD5 | {"password": '"queen"'}),
    ],
    ids=["md5", "peap", "refused"],
)
def test_a_host_sees_what_it_sees_at_hostapd(
    site: Site, number: int, network: dict[str, str]
) -> None:
    ours, theirs = site.host(number), site.switch.host(number + 1, f"plug{number + 1}")
    file = site.folder / f"hostapd{number}.conf"
    file.write_text(
        f"interface={theirs.plug}\ndriver=wired\nieee8021x=1\neapol_version=2\n"
        "own_ip_addr=127.0.0.1\nnas_identifier=br0\nauth_server_addr=127.0.0.1\n"
        f"auth_server_port=1812\nauth_server_shared_secret={SECRET}\n"
    )
    authenticator = Daemon(Host(site.switch.namespace, "", 0), "hostapd", str(file))
    ends = eapol.SUCCESS if PASSWORD in network["password"] else eapol.FAILURE
    try:
        authenticator.wait_logged("AP-ENABLED")
        seen = []
        for host in (ours, theirs):
            with host.wire() as wire:
                supplicant = site.supplicant(host, network)
                supplicant.wait_logged("CTRL-EVENT-EAP-" + RESULTS[ends], seconds=30)
                supplicant.close()
                seen.append(steps(wire))
    finally:
        authenticator.close()
    ours_seen, theirs_seen = (trace[: _end(trace, ends)] for trace in seen)
    assert len(ours_seen) > 3
    assert ours_seen[1:] == theirs_seen[1:]
    assert ours_seen[0][2:] == theirs_seen[0][2:], "the first request may be to all hosts"


def _end(trace: list[Step], code: int) -> int:
    """The number of steps until the result."""
    return next(at for at, step in enumerate(trace) if step[4] == code) + 1


def test_a_host_without_802_1x_is_authenticated_by_its_address(site: Site) -> None:
    host = site.host(5)
    wait_for(lambda: host.reaches(site.up.ip, seconds=1), "the host to be admitted", seconds=20)
    known = site.known(host)
    assert known is not None
    assert known["method"] == "mab"


def test_a_refused_host_is_shown_with_the_servers_words(site: Site) -> None:
    host = site.host(7)
    site.supplicant(host, MD5 | {"identity": '"carol"'})

    def words() -> bool:
        problems = site.controller.get("/v1/problems")["problems"]
        return any("account expired" in problem["message"] for problem in problems)

    wait_for(words, "the problem with the server's Reply-Message", seconds=30)

    def locked() -> bool:
        entries = site.controller.fdb(site.switch.bridge, mac=host.mac)
        return [(each["port"]["name"], each["flags"]) for each in entries] == [
            (host.plug, ["locked"])
        ]

    wait_for(locked, "the host's entry with the flag `locked`", seconds=30)
    assert not host.reaches(site.up.ip, seconds=1)


def test_the_server_puts_a_host_into_a_vlan(site: Site) -> None:
    host = site.host(8)
    site.up.run(
        "ip",
        "link",
        "add",
        "link",
        "eth0",
        "name",
        "eth0.20",
        "type",
        "vlan",
        "id",
        "20",
        check=False,
    )
    supplicant = site.supplicant(host, MD5 | {"identity": '"bob"'})
    supplicant.wait()
    known = site.wait_phase(host, "authorised")
    assert known["vlan"] == 20
    assert not host.reaches(site.up.ip, seconds=1)
    wait_for_vlan_20(site, host, b"")


def wait_for_vlan_20(site: Site, host: Host, tag: bytes) -> None:
    """Wait until a frame of the host comes out of the trunk in VLAN 20.  tag: of the frame."""
    ends = b"\xff" * 6 + bytes.fromhex(host.mac.replace(":", ""))
    with host.wire() as sender, site.up.wire() as receiver:

        def tagged() -> bool:
            sender.send(ends + tag + b"\x88\xb5" + b"x" * 46)
            return any(got[12:16] == VLAN_20 for got in receiver.received())

        wait_for(tagged, "a frame of VLAN 20 at the trunk")


def test_the_server_gives_an_access_list_a_tagged_vlan_and_rates_and_changes_them(
    site: Site,
) -> None:
    host = site.host(11)
    site.supplicant(host, MD5 | {"identity": '"dave"'}).wait()
    known = site.wait_phase(host, "authorised")
    assert rights_of(known) == ["quiet", [20], 5000, 7000]
    wait_for_vlan_20(site, host, VLAN_20)
    meters = site.switch.bridge.meters().values()
    assert all(any(rate in meter for meter in meters) for rate in ("rate=5000", "rate=7000"))
    assert not host.reaches(site.up.ip, seconds=1)
    station = f'Calling-Station-Id = "{host.mac}"'
    said = site.radius.demand("coa", station, 'Filter-Id = "absent"')
    assert "CoA-NAK" in said
    assert "Error-Cause = Invalid-Attribute-Value" in said
    other = 'Filter-Id = "all"', "WISPr-Bandwidth-Max-Down = 3000000"
    assert "CoA-ACK" in site.radius.demand("coa", station, *other)
    wait_for(lambda: host.reaches(site.up.ip, seconds=1), "the other access list")
    known = site.wait_phase(host, "authorised")
    assert rights_of(known) == ["all", [20], 5000, 3000]
    wait_for(
        lambda: any("rate=3000" in meter for meter in site.switch.bridge.meters().values()),
        "the other rate of the switch",
    )


def rights_of(known: dict[str, Any]) -> list[Any]:
    """What the server grants a host besides the VLAN of its untagged frames."""
    return [known[name] for name in ("acl", "tagged", "rate_in", "rate_out")]


def test_a_server_ends_a_session_and_has_it_authorised_again(site: Site) -> None:
    host = site.host(10, "eth10")
    supplicant = site.supplicant(host, MD5)
    supplicant.wait()
    station = f'Calling-Station-Id = "{host.mac}"'
    started = f'"{host.mac.replace(":", "-").upper()}"'
    wait_for(lambda: started in site.radius.accounted(), "the report of the session")
    assert "CoA-ACK" in site.radius.demand("coa", station)
    assert "CoA-NAK" in site.radius.demand("coa", 'Calling-Station-Id = "02-00-00-00-00-99"')
    for other, cause in (
        ('NAS-Identifier = "br9"', "NAS-Identification-Mismatch"),
        ('User-Name = "bob"', "Session-Context-Not-Found"),
        ("Framed-IP-Address = 10.211.0.10", "Unsupported-Attribute"),
    ):
        assert f"Error-Cause = {cause}" in site.radius.demand("disconnect", station, other)
    wanted = 'User-Name = "alice"', 'NAS-Port-Id = "eth10"', 'NAS-Identifier = "br0"'
    assert "CoA-ACK" in site.radius.demand("coa", *wanted)
    supplicant.close()
    assert "Disconnect-ACK" in site.radius.demand("disconnect", station)
    wait_for(lambda: "Admin-Reset" in site.radius.accounted(), "the report of its end")
    assert not host.reaches(site.up.ip, seconds=1)


@pytest.mark.parametrize(
    ("user", "claims", "why"),
    [
        ("alice", "mallory", "no server answers"),
        ("erin", "erin", "its Session-Timeout has passed"),
    ],
)
def test_silence_of_the_servers_prolongs_no_session_that_is_to_end(
    site: Site, user: str, claims: str, why: str
) -> None:
    """Nor does it authorise a host that claims another identity."""
    host = site.host()
    supplicant = site.supplicant(host, {**MD5, "identity": f'"{user}"'})
    supplicant.wait()
    site.radius.stop()
    try:
        supplicant.command("set_network", "0", "identity", f'"{claims}"')
        asked = site.controller.api("POST", f"{site.path}/reauthenticate", {"mac": host.mac})
        assert asked.status == 204

        def ended() -> bool:
            events = site.controller.events("port_access.ended")
            events += site.controller.events("port_access.refused")
            return any(
                each["data"]["mac"] == host.mac and each["data"]["why"] == why for each in events
            )

        wait_for(ended, f"the end of the session: {why}", seconds=60)
        assert not host.reaches(site.up.ip, seconds=1)
    finally:
        site.radius.start()


def test_many_ports_authenticate_again_at_once_and_no_host_is_cut_off(site: Site) -> None:
    many, namespace = 20, site.switch.namespace
    hosts = Supplicants(f"{namespace}far", namespace, many, b"alice", PASSWORD)
    names = [f"a{number}" for number in hosts.numbers]
    try:
        site.switch.vsctl(*(word for name in names for word in ("--", "add-port", BRIDGE, name)))
        hosts.start()
        assert hosts.serve_accepted(60), f"{len(hosts.waiting)} hosts wait"
        hosts.expect()
        for name in names:
            asked = site.controller.api("POST", f"{site.path}/reauthenticate", {"port": name})
            assert asked.status == 204
        assert hosts.serve_accepted(60), f"{len(hosts.waiting)} hosts wait"
        ended = {each["data"]["mac"] for each in site.controller.events("port_access.ended")}
        assert not ended & {hosts.mac(number) for number in hosts.numbers}
    finally:
        for name in names:
            site.switch.vsctl("--if-exists", "del-port", name)
        hosts.close()


def test_a_secret_that_cannot_be_read_is_named(site: Site) -> None:
    host, file = site.host(), site.radius.secret_file
    hidden = file.rename(file.with_suffix(".hidden"))

    def said() -> list[str]:
        problems = site.controller.get("/v1/problems")["problems"]
        return [each["message"] for each in problems if each["kind"] == "port_access.silent"]

    try:
        supplicant = site.supplicant(host, MD5)
        wait_for(lambda: said() == [f"{file} cannot be read: No such file or directory"], "it")
    finally:
        hidden.rename(file)
    supplicant.wait()


def test_a_server_that_is_not_there_and_another_secret_are_named_and_the_doctor_knows_the_host(
    site: Site,
) -> None:
    host, file = site.host(), site.radius.secret_file

    def wait_said(text: str) -> None:
        def said() -> bool:
            problems = site.controller.get("/v1/problems")["problems"]
            kinds = {each["message"]: each["kind"] for each in problems}
            return any(text in each and kinds[each] == "port_access.silent" for each in kinds)

        wait_for(said, text, seconds=60)

    site.radius.stop()
    supplicant = site.supplicant(host, MD5)
    wait_said("no RADIUS server answers: 127.0.0.1:1812 refuses requests: nothing listens there")
    file.write_text("another secret\n")
    try:
        site.wait_phase(host, "held", seconds=60)  # its next question has the other secret
        site.radius.start()
        wait_said("no RADIUS server answers (127.0.0.1)")
        path = f"/v1/bridges/{site.switch.bridge.dpid16}/diagnosis"

        def named() -> bool:
            known = site.controller.get(path, host=host.plug)["hosts"]
            return any("alice is not authorised" in (each["problem"] or "") for each in known)

        wait_for(named, "the reason why the host has no network", seconds=60)
    finally:
        file.write_text(f"{SECRET}\n")
    supplicant.wait(60)


def test_authorised_hosts_lose_nothing_while_no_server_answers_or_the_controller_restarts(
    site: Site,
) -> None:
    host = site.host(9)
    site.supplicant(host, MD5).wait()
    wait_for(lambda: host.reaches(site.up.ip), "the host to be admitted")
    with Pings(host, site.up.ip) as pings:
        pings.more(10)
        site.radius.stop()
        asked = site.controller.api("POST", f"{site.path}/reauthenticate", {"mac": host.mac})
        assert asked.status == 204
        wait_for(
            lambda: site.controller.events("port_access.silent"), "silence to be seen", seconds=20
        )
        pings.more(10)
        site.controller.kill9()
        site.controller.start()
        site.controller.wait_ready(site.switch.bridge)
        known = site.known(host)
        assert known is not None
        assert known["authorised"]
        pings.more(20)
        assert not pings.lost()
    site.radius.start()
