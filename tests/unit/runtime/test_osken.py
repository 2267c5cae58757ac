"""What ofapp relies on in os-ken: a failure names what a new version has changed.

The modules of `ofapp/osken/` list the names.  These tests are about what is behind them.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.common import hub
from ofapp.osken import application, ofp, options, parser, server
from tests.support.waiting import wait_for

# isort: split
from os_ken.base import app_manager
from os_ken.controller import controller, ofp_event
from os_ken.lib import hub as osken_hub

ANY = 0xFFFFFFFF
NUMBERS = {
    "OFP_VERSION": 4,
    "OFP_DEFAULT_PRIORITY": 0x8000,
    "OFP_NO_BUFFER": ANY,
    "OFPCML_NO_BUFFER": 0xFFFF,
    "OFPC_FRAG_NORMAL": 0,
    "OFPMT_OXM": 1,
    "OFPTT_ALL": 0xFF,
    "OFPIT_APPLY_ACTIONS": 4,
    "OFPMP_FLOW": 1,
    "OFPMP_PORT_DESC": 13,
    "OFPMPF_REPLY_MORE": 1,
    **{"OFPAT_OUTPUT": 0, "OFPAT_GROUP": 22},
    **{"OFPP_IN_PORT": 0xFFFFFFF8, "OFPP_CONTROLLER": 0xFFFFFFFD, "OFPP_ANY": ANY},
    **{"OFPPC_NO_RECV": 4, "OFPPC_NO_FWD": 32, "OFPPC_NO_PACKET_IN": 64},
    **{"OFPPC_PORT_DOWN": 1, "OFPPS_LINK_DOWN": 1, "OFPPS_LIVE": 4, "OFPPR_DELETE": 1},
    **{"OFPPF_10MB_HD": 1, "OFPPF_100MB_HD": 4, "OFPPF_1GB_HD": 16},
    **{"OFPFC_ADD": 0, "OFPFC_DELETE": 3, "OFPFC_DELETE_STRICT": 4, "OFPFC_MODIFY_STRICT": 2},
    **{"OFPFF_SEND_FLOW_REM": 1, "OFPFF_CHECK_OVERLAP": 2, "OFPFF_RESET_COUNTS": 4},
    **{"OFPG_ANY": ANY, "OFPGC_ADD": 0, "OFPGC_MODIFY": 1, "OFPGC_DELETE": 2, "OFPGT_ALL": 0},
    **{"OFPM_ALL": ANY, "OFPMC_ADD": 0, "OFPMC_MODIFY": 1, "OFPMC_DELETE": 2},
    **{"OFPMF_KBPS": 1, "OFPMF_PKTPS": 2, "OFPMF_BURST": 4},
    **{"OFPET_FLOW_MOD_FAILED": 5, "OFPFMFC_TABLE_FULL": 1},
    **{"OFPET_GROUP_MOD_FAILED": 6, "OFPGMFC_OUT_OF_GROUPS": 3, "OFPGMFC_OUT_OF_BUCKETS": 4},
    **{"OFPET_METER_MOD_FAILED": 12, "OFPMMFC_OUT_OF_METERS": 10, "OFPMMFC_OUT_OF_BANDS": 11},
    **{"OFPET_ROLE_REQUEST_FAILED": 11, "OFPRRFC_STALE": 0},
    **{"OFPT_HELLO": 0, "OFPT_ERROR": 1, "OFPT_ECHO_REQUEST": 2, "OFPT_ECHO_REPLY": 3},
    **{"OFPT_EXPERIMENTER": 4, "OFPT_FEATURES_REPLY": 6, "OFPT_PACKET_IN": 10},
    **{"OFPT_FLOW_REMOVED": 11, "OFPT_PORT_STATUS": 12, "OFPT_PACKET_OUT": 13},
    **{"OFPT_FLOW_MOD": 14, "OFPT_GROUP_MOD": 15, "OFPT_MULTIPART_REPLY": 19},
    **{"OFPT_BARRIER_REQUEST": 20, "OFPT_BARRIER_REPLY": 21, "OFPT_ROLE_REPLY": 25},
    "OFPT_METER_MOD": 29,
}
"""OpenFlow 1.3.5, appendix A."""


def test_the_numbers_are_those_of_the_standard() -> None:
    listed = {name: value for name, value in vars(ofp).items() if name.startswith("OFP")}
    assert listed == NUMBERS


def test_errors_and_fields_have_names() -> None:
    assert ofp.ofp_error_to_jsondict(5, 1) == {
        "type": "OFPET_FLOW_MOD_FAILED(5)",
        "code": "OFPFMFC_TABLE_FULL(1)",
    }
    fields = {kind.name: kind for kind in ofp.oxm_types}
    assert {"in_port", "eth_src", "eth_dst", "vlan_vid", "reg0", "nw_ttl"} <= fields.keys()
    assert (fields["eth_src"].num, fields["eth_src"].type.size) == (0x8000 << 7 | 4, 6)


SWITCH = parser.ProtocolDesc(version=ofp.OFP_VERSION)
MESSAGES = {
    "0414000800000000": parser.OFPBarrierRequest(SWITCH),
    "0402000a000000006162": parser.OFPEchoRequest(SWITCH, b"ab"),
    "0409000c0000000000000080": parser.OFPSetConfig(SWITCH, 0, 128),
    "041800180000000000000002000000000000000000000005": parser.OFPRoleRequest(SWITCH, 2, 5),
    "040f0010000000000002000000000007": parser.OFPGroupMod(SWITCH, 2, 0, 7, []),
    "041d002000000000000000050000000300010010000000090000000900000000": parser.OFPMeterMod(
        SWITCH, 0, 5, 3, [parser.OFPMeterBandDrop(rate=9, burst_size=9)]
    ),
    "04120038000000000001000000000000"
    "ff000000ffffffffffffffff00000000"
    "000000000000000100000000000000020001000400000000": parser.OFPFlowStatsRequest(
        SWITCH, 0, ofp.OFPTT_ALL, ofp.OFPP_ANY, ofp.OFPG_ANY, 1, 2, parser.OFPMatch()
    ),
    "04120010000000000003000000000000": parser.OFPTableStatsRequest(SWITCH, 0),
    "04120018000000000004000000000000ffffffff00000000": parser.OFPPortStatsRequest(SWITCH, 0, ANY),
    "04120010000000000007000000000000": parser.OFPGroupDescStatsRequest(SWITCH),
    "04120018000000000009000000000000ffffffff00000000": parser.OFPMeterStatsRequest(SWITCH, 0, ANY),
    "0412001800000000000a000000000000ffffffff00000000": parser.OFPMeterConfigStatsRequest(SWITCH),
    "0412001000000000000b000000000000": parser.OFPMeterFeaturesStatsRequest(SWITCH),
    "0412001000000000000d000000000000": parser.OFPPortDescStatsRequest(SWITCH, 0),
}


@pytest.mark.parametrize("octets", MESSAGES, ids=lambda octets: type(MESSAGES[octets]).__name__)
def test_a_message_is_these_octets(octets: str) -> None:
    message = MESSAGES[octets]
    assert message.xid is None, "until it is sent, so that the channel can number it"
    message.set_xid(0)
    message.serialize()
    assert bytes(message.buf).hex() == octets


def parsed(type_: int, body: str) -> Any:
    data = bytes.fromhex(body)
    whole = struct.pack("!BBHI", 4, type_, 8 + len(data), 9) + data
    assert parser.header(whole) == (4, type_, len(whole), 9)
    return parser.msg(SWITCH, 4, type_, len(whole), 9, bytearray(whole))


def test_groups_are_read_with_their_actions() -> None:
    bucket = "0030 0000 ffffffff ffffffff 00000000 0012 0008 00000000"
    bucket += "0000 0010 00000003 0000 000000000000 0016 0008 00000004"
    (group,) = parsed(19, "0007 0000 00000000 0038 00 00 00000007" + bucket).body
    assert group.group_id == 7
    pop, output, to_group = group.buckets[0].actions
    assert isinstance(pop, parser.OFPActionPopVlan)
    assert isinstance(output, parser.OFPActionOutput)
    assert isinstance(to_group, parser.OFPActionGroup)
    assert (output.port, to_group.group_id) == (3, 4)


def test_meters_are_read_with_their_bands() -> None:
    band = "0001 0010 00000009 00000009 00000000"
    (meter,) = parsed(19, "000a 0000 00000000 0018 0005 00000003" + band).body
    assert (meter.meter_id, meter.bands[0].rate) == (3, 9)
    counted = "0000000000000005 0000000000000140"
    head = "00000003 0038 000000000000 00000001 0000000000000000 0000000000000000 00000002 00000004"
    (stats,) = parsed(19, "0009 0000 00000000" + head + counted).body
    assert (stats.meter_id, stats.duration_sec, stats.duration_nsec) == (3, 2, 4)
    dropped = stats.band_stats[0]
    assert (dropped.packet_band_count, dropped.byte_band_count) == (5, 0x140)
    (features,) = parsed(19, "000b 0000 00000000 00000010 00000002 0000000f 01 00 0000").body
    assert features.max_meter == 16


def test_malformed_messages_give_nothing_or_an_error_and_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made: list[Any] = []
    with contextlib.suppress(Exception):
        made.append(parsed(19, "0007 0000"))
    assert made in ([], [None])
    assert caplog.records == [], "a switch may send any number of them"


# --- the connection of a switch


@pytest.fixture
def pair() -> Iterator[tuple[application.Datapath, Any]]:
    """A datapath, and the switch's end of its connection."""
    listening = hub.listen(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname(), 20)
    ours, address = listening.accept()
    listening.close()
    yield application.Datapath(ours, address), theirs
    ours.close()
    theirs.close()


def test_a_new_datapath_has_what_the_channel_reads(pair: tuple[Any, Any]) -> None:
    datapath, _ = pair
    assert datapath.id is None
    assert datapath.is_active
    assert datapath.state == "handshake" != application.MAIN_DISPATCHER
    assert datapath.send_q, "an empty queue is true: the echo loop ends when it is not"
    assert datapath.unreplied_echo_requests == []
    assert datapath.ofp_brick is app_manager.lookup_service_brick("ofp_event")
    assert datapath.socket.gettimeout() == options.CONF.socket_timeout
    assert datapath.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    datapath.set_version(ofp.OFP_VERSION)
    assert datapath.ofproto.OFP_VERSION == 4
    assert datapath.ofproto_parser.OFPHello(datapath).xid is None


def test_transaction_ids_count_up_and_are_given_back(pair: tuple[Any, Any]) -> None:
    datapath, _ = pair
    datapath.xid = 0xFFFFFFFE
    message = parser.OFPBarrierRequest(datapath)
    assert datapath.set_xid(message) == message.xid == 0xFFFFFFFF
    assert datapath.set_xid(parser.OFPBarrierRequest(datapath)) == 0


def test_observers_get_each_change_of_state_once(pair: tuple[Any, Any]) -> None:
    datapath, theirs = pair
    changes: list[tuple[Any, str]] = []

    class Brick:
        def send_event_to_observers(self, event: Any, state: str) -> None:
            changes.append((event, state))

    datapath.ofp_brick = Brick()
    datapath.set_state(application.MAIN_DISPATCHER)
    datapath.set_state(application.MAIN_DISPATCHER)
    datapath.close()
    assert [state for _, state in changes] == ["main", "dead"]
    assert all(type(event) is application.EventOFPStateChange for event, _ in changes)
    assert (changes[0][0].datapath, changes[0][0].state) == (datapath, "main")
    assert theirs.recv(1) == b"", "closing ends what we send"


def test_echo_requests_are_sent_until_too_many_have_no_reply(pair: tuple[Any, Any]) -> None:
    datapath, _ = pair
    datapath.set_version(ofp.OFP_VERSION)
    datapath.echo_request_interval, datapath.max_unreplied_echo_requests = 0.0, 2
    sent: list[bytes] = []

    def send(buf: bytes, close_socket: bool = False) -> None:
        sent.append(bytes(buf))
        if len(sent) == 1:
            datapath.acknowledge_echo_reply(datapath.unreplied_echo_requests[0])
            datapath.acknowledge_echo_reply(datapath.xid + 1)  # nothing was asked by it

    datapath.send = send
    with hub.Timeout(20):
        datapath._echo_request_loop()
    assert len(sent) == 4, "one was answered, and three were not"
    assert {message[1] for message in sent} == {ofp.OFPT_ECHO_REQUEST}
    assert datapath.state == application.DEAD_DISPATCHER


# --- applications


@pytest.fixture
def listener() -> Iterator[Any]:
    """An application that gets switches' changes of state, running."""

    class Listening(application.OSKenApp):  # type: ignore[misc]
        heard: list[Any] = []  # noqa: RUF012

        @application.set_ev_cls(  # type: ignore[untyped-decorator]
            application.EventOFPStateChange, [application.MAIN_DISPATCHER]
        )
        def on_state_change(self, event: Any) -> None:
            self.heard.append(event)
            if event.state == "fail":
                raise ValueError("a test")

    app_manager.register_app(app := Listening())
    app.start()
    yield app
    app_manager.unregister_app(app)
    app.stop()


def state_change(state: str) -> Any:
    event = application.EventOFPStateChange(None)
    event.state = state
    return event


def test_a_handler_that_raises_does_not_end_its_applications_loop(
    listener: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for state in ("fail", "main"):
        listener._send_event(state_change(state), application.MAIN_DISPATCHER)
    wait_for(lambda: len(listener.heard) == 2, "both events to be handled", sleep=hub.sleep)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "on_state_change" in record.getMessage()


def test_handlers_are_found_by_event_and_state(listener: Any) -> None:
    event = state_change("main")
    assert [one.__name__ for one in listener.get_handlers(event, "main")] == ["on_state_change"]
    assert [*listener.get_handlers(event, "dead")] == []
    assert [*listener.get_observers(event, "main")] == []
    listener.register_observer(application.EventOFPStateChange, "other", {"main"})
    assert listener.observers[application.EventOFPStateChange].keys() == {"other"}
    assert listener.events.maxsize == 128, "a handler that waits holds the channel up after these"


def test_a_message_has_an_event_for_its_handlers() -> None:
    hello = parsed(ofp.OFPT_HELLO, "")
    assert type(application.ofp_msg_to_ev(hello)) is ofp_event.EventOFPHello


def test_the_manager_has_what_the_launcher_uses() -> None:
    manager = application.AppManager.get_instance()
    assert manager is application.AppManager.get_instance()
    for name in ("load_apps", "create_contexts", "instantiate_apps", "close"):
        assert callable(getattr(manager, name)), name
    for name in ("applications", "applications_cls", "contexts_cls"):
        assert isinstance(getattr(manager, name), dict), name
    assert application.OSKenApp().main_thread is None


# --- the hub and the listener


def test_it_runs_on_our_hub() -> None:
    """On native threads nothing of this would hold."""
    assert osken_hub.HUB_TYPE == "eventlet"
    assert osken_hub.Queue is hub.Queue
    assert osken_hub.TaskExit is hub.GreenletExit
    assert osken_hub.sleep is hub.sleep


def test_the_openflow_listener_is_ours_and_gives_us_each_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert controller.StreamServer is server.SwitchServer
    assert osken_hub.listen is hub.listen
    monkeypatch.setattr(controller, "datapath_connection_factory", None)  # put back at the end
    monkeypatch.setattr(server.SwitchServer, "listening", hub.Event())
    connected: list[Any] = []
    server.serve_with(lambda peer, address: connected.append((peer, address)))
    monkeypatch.setattr(options.CONF, "ctl_privkey", None, raising=False)
    with hub.socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = hub.spawn(controller.OpenFlowController.server_loop, None, port, port)
    try:
        assert server.SwitchServer.listening.wait(20)
        with hub.socket.create_connection(("127.0.0.1", port)) as client:
            wait_for(lambda: connected, "the connection", sleep=hub.sleep)
            assert connected[0][1] == client.getsockname()
    finally:
        hub.kill(serving)


# --- options


def test_options_that_ofapp_sets_or_reads_are_registered() -> None:
    names = ("ofp_listen_host", "ofp_tcp_listen_port", "ofp_ssl_listen_port", "ciphers", "verbose")
    names += ("ctl_privkey", "ctl_cert", "ca_certs", "log_config_file", "log_file", "use_stderr")
    names += ("echo_request_interval", "maximum_unreplied_echo_requests", "socket_timeout")
    missing = [name for name in names if name not in options.CONF]
    assert not missing


def test_the_parts_of_oslo_config_that_ofapp_replaces_are_there() -> None:
    fresh = options.ConfigOpts()
    assert callable(fresh._make_config_options)
    assert fresh._shell_completion_opt.name == "shell_completion"
    assert isinstance(fresh.supported_shell_completion, list | tuple | dict)
    fresh.register_cli_opt(options.BoolOpt("deep"))
    fresh.register_cli_opt(options.MultiStrOpt("app", positional=True, required=False))
    names = {option.name: group for option, group in fresh._all_cli_opts()}
    assert names["deep"] is None
    assert "app" in names
