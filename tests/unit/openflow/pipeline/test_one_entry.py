"""A kind of frames and a table are one entry each: with it, everything else follows.

Each runs in a separate process, whose `TRAPS` or list of tables has one entry more.
"""

import subprocess
import sys
from textwrap import dedent

BEGIN = """
import importlib.util
import sys

import ofapp.common.hub


def load(name, old, new):
    '''Import a module as if its source had `new` in the place of `old`.'''
    spec = importlib.util.find_spec(name)
    source = spec.loader.get_source(name)
    assert source.count(old) == 1, old
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(source.replace(old, new), spec.origin, "exec"), module.__dict__)
    return module


def bridge(**options):
    from ofapp.bridge.bridge import Bridge
    from ofapp.bridge.params.params import BridgeParams
    from ofapp.bridge.ports.port import Port

    made = Bridge(1, BridgeParams(**options))
    made.set_ports([Port(1, "p1", 1, True), Port(2, "p2", 2, True)], 0.0)
    return made
"""


def run(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + dedent(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_kind_of_frames_is_one_entry() -> None:
    run(
        """
        import struct
        from collections import Counter

        traps = load(
            "ofapp.openflow.model.traps",
            "TRAPS = (\\n    SIGHTING,",
            '''
        from ofapp.openflow.model.flow import Match

        PTP = Trap(
            name="ptp",
            feature=0x40,
            meter=40,
            rate=15,
            rule=TrapRule(
                TableId.ADMISSION,
                "ptp",
                940,
                "Time of clocks.",
                (Match("eth_type", 0x88F7),),
            ),
            of_port=lambda port: TrapPort(port.number),
            event="ptp",
            what="PTP messages",
        )
        TRAPS = (PTP, SIGHTING,''',
        )
        from typing import get_args

        from ofapp.api.event_kinds import KINDS
        from ofapp.api.resources.bridge.ports import LimitedKind
        from ofapp.openflow.model.flow import Meter
        from tests.support.contents import wanted_flows
        from ofapp.openflow.pipeline.entries import GroupNumbers
        from ofapp.openflow.pipeline.meters import meter_id
        from ofapp.openflow.switch.program import program
        from ofapp.openflow.pipeline.tables import check
        from ofapp.openflow.switch.counters.rates import MeterWatch
        from ofapp.openflow.wire.inbox import Frame, Inbox

        desired = bridge().desired()
        flows = [flow for flow in wanted_flows(desired, True) if flow.feature == 0x40]
        assert [check(flow).name for flow in flows] == ["ptp", "ptp"]
        meters = {Meter(meter_id(port, traps.PTP), 15) for port in (1, 2)}
        assert meters < {*program(desired, True, GroupNumbers()).meters.values()}
        assert "ptp" in get_args(LimitedKind)
        assert "ptp.limited" in KINDS and "ptp.limited.cleared" in KINDS
        assert "ptp" in MeterWatch().dropped

        match = struct.pack("!HHII4x", 1, 12, 0x80000004, 2)
        body = struct.pack("!IHBBQ", 0xFFFFFFFF, 60, 1, 0, flows[0].cookie) + match + bytes(62)
        inbox = Inbox(Counter())
        inbox.feed(struct.pack("!BBHI", 4, 10, 8 + len(body), 0) + body)
        assert inbox.take_frames(9) == [Frame(traps.PTP, 2, bytes(60))]
        """
    )


def test_a_table_is_one_module_and_one_entry() -> None:
    run(
        """
        tables = load(
            "ofapp.openflow.pipeline.tables",
            "_DECLARED = (\\n    ADMISSION,\\n    ACCESS,\\n    VLAN,\\n    MARK,\\n    STORM,\\n",
            '''
        from ofapp.openflow.model.flow import Match, in_port

        STRICT = Table(
            25,
            "strict",
            "Only IPv4.",
            (
                Rule("ip", 10, frozenset({"in_port", "eth_type"}), 0x41, "Pass.", (ONWARD,)),
                Rule("rest", 0, frozenset(), 0x41, "Drop."),
            ),
            flows=lambda desired, metered: [Flow(25, 0, (), 0x41)],
            port_flows=lambda ingress: [
                Flow(
                    25,
                    10,
                    (in_port(ingress.port.number), Match("eth_type", 0x800)),
                    0x41,
                    (),
                    ingress.onward,
                )
            ],
            passes=lambda port, metered: port.policy.acl is not None,
        )
        _DECLARED = (
            ADMISSION, ACCESS, VLAN, MARK, STORM, STRICT,
        ''',
        )
        from ofapp.bridge.params.params import PortParams
        from ofapp.bridge.params.policy import PortPolicy, Storm
        from tests.support.contents import wanted_flows

        policy = PortPolicy(acl="x", storm=Storm(broadcast=5))
        made = bridge(ports={"p1": PortParams(policy=policy)})
        ways = {
            (flow.match[0].value, flow.table): flow.goto
            for flow in wanted_flows(made.desired(), True)
            if flow.match and flow.match[0].field == "in_port" and flow.goto is not None
        }
        assert (ways[1, 0], ways[1, 20], ways[1, 25], ways[2, 0]) == (20, 25, 30, 40)
        assert tables.NAMES[25] == "strict"
        """
    )
