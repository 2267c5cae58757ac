"""Every kind of mistake once: told with its line and column, its path, and what is accepted."""

from __future__ import annotations

import re
import textwrap

import pytest

from ofapp.config import ConfigError, parse_config


def refusal(text: str | bytes) -> list[str]:
    """line:column: path: what, of each fault."""
    data = text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode()
    with pytest.raises(ConfigError) as refused:
        parse_config(data, "f")
    return [str(fault).removeprefix("f:") for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        # YAML itself
        ("a: [1", "not YAML: .*"),
        ("a:\n\tb: 1", "2:1: not YAML: a tab cannot indent, use spaces"),
        ("a: *x", r"1:4: \*x refers to an anchor &x that is not there"),
        ("defaults: &a\n  stp: *a", r"2:8: \*a refers to what it is a part of"),
        ("defaults: {<<: 5}", "1:12: << takes a mapping, or a list of mappings"),
        ("defaults: !!python/object:os.system {}", "1:11: the tag .* has no meaning here"),
        ("defaults: {[1]: 2}", "1:12: a key must be text or a number"),
        ("--- {}\n--- {}", "2:1: a second document begins here: .*"),
        ("[" * 40, "1:34: nested more than 32 deep"),
        ("a: \x07", "1:4: character .x07 cannot be in YAML"),
        (b"a: 1\nb: \xff", "2:4: byte 0xff is not UTF-8"),
        ("watch: true\nwatch: false", "2:1: watch: this key is there already, in line 1"),
        ("- 1", "1:1: must be a section of `key: value` lines, not a list"),
        # keys and types
        ("brigdes: {}", "1:1: brigdes: there is no such key: did you mean bridges.?"),
        ("defaults: {colour: 1}", "1:12: defaults.colour: there is no such key; there are age.*"),
        ("defaults: {foo: 1}", "1:12: defaults.foo: there is no such key; there are ageing_time.*"),
        ("watch: maybe", '1:8: watch: must be true or false, not "maybe"'),
        (
            "defaults: {ageing_time: -1}",
            "1:25: .*: must be a whole number from 0 to 65535 s, not -1",
        ),
        ("defaults: {ageing_time: 1.5}", "1:25: .*: must be a whole number from 0 .*, not 1.5"),
        ("defaults: {ageing_time: 010}", '1:25: .*: must be a whole number from .*, not "010"'),
        ("defaults: {packet_in_rate: 0}", "1:28: .*: must be a whole number from 1 to .*, not 0"),
        (
            "defaults: {mac_move: {hold: 0}}",
            "1:29: .*: must be a number above 0, at most 86400 s, .*",
        ),
        ("defaults: 5", "1:11: defaults: must be a section of `key: value` lines, not 5"),
        ("bridges: {br0: {static: 5}}", "1:25: bridges.br0.static: must be a list, not 5"),
        ("api: {port: 70000}", "1:13: api.port: must be a whole number from 1 to 65535, not 70000"),
        ("api: {host: ''}", '1:13: api.host: must not be empty, not ""'),
        ("channel: {tls: {key: k}}", "1:11: channel.tls: cert is missing"),
        # bridges
        (
            "bridges: {10: {}}",
            "1:11: bridges.10: 10 may mean the datapath id 000000000000000a .*: write all 16 .*",
        ),
        ("bridges: {010: {}}", "1:11: bridges.010: 010 may mean the datapath id .*"),
        ("bridges: {0: {}}", "1:11: bridges.0: 0 is no datapath id: .*"),
        ("bridges: {0x10000000000000000: {}}", "1:11: .*: 0x10000000000000000 is no datapath id.*"),
        ("bridges: {12345678901234567: {}}", "1:11: .* is too long for a datapath id: .*"),
        ("bridges: {a/b: {}}", "1:11: bridges.a/b: 'a/b' is neither a datapath id of 16 .*"),
        ("bridges: {an-interface-too-long: {}}", "1:11: .* is neither .*, of at most 15 .*"),
        ("bridges: {1: {}, 0x1: {}}", "1:18: bridges.0x1: is the same bridge as 1"),
        # ports
        ("defaults: {ports: {012: {}}}", "1:20: defaults.ports.012: 012 begins with 0: .*"),
        ("defaults: {ports: {0: {}}}", "1:20: .*: 0 is not the number of a port: .*"),
        ("defaults: {ports: {4294967294: {}}}", "1:20: .*: write LOCAL"),
        ("defaults: {ports: {a b: {}}}", "1:20: .*: 'a b' is not a port's name, number or pattern"),
        ("defaults: {ports: {sixteen-letters-: {}}}", "1:20: .* is too long for a port's name: .*"),
        ("defaults: {ports: {a: {over_limit: x}}}", '1:36: .*: must be flood or drop, not "x"'),
        ("defaults: {ports: {a: {storm: {broadcast: 0}}}}", "1:43: .*: must be a whole number .*"),
        ("defaults: {ports: {LOCAL: {shutdown: on}}}", "1:38: .*: LOCAL is the bridge itself, .*"),
        (
            "defaults: {ports: {a: {monitor: on, vlan: 5}}}",
            "1:43: .*: a monitor port is in no VLAN.*",
        ),
        (
            "defaults: {ports: {a: {isolated: on, community: 1}}}",
            "1:49: .*: an isolated port is in no community: leave it out, or set isolated to .*",
        ),
        (
            "defaults: {ports: {a*: {isolated: on}, ab: {community: 1}}}",
            "1:56: .*: an isolated port is in no community: .*",
        ),
        ("defaults: {ports: {a: {acl: web}}}", "1:29: .*: there is no access list web"),
        # VLANs
        ("defaults: {vlans: {5000: {}}}", r"1:20: .*: 5000 is not a VID: 0 \(untagged\) to 4094"),
        ("defaults: {vlans: {1: {name: 5a}}}", "1:30: .*: '5a' cannot be a VLAN's name: .*"),
        (
            "defaults: {vlans: {1: {name: a}, 2: {name: a}}}",
            "1:44: defaults.vlans.2.name: VLANs 1 and 2 are both called a",
        ),
        ("defaults: {vlans: {0: {name: a}}}", "1:30: .*: untagged frames are in no VLAN .*"),
        ("defaults: {ports: {a: {vlan: 4095}}}", "1:30: .*: 4095 is neither a VID, 1 to 4094, .*"),
        ("defaults: {ports: {a: {vlan: 0}}}", "1:30: .*: VID 0 stands for untagged: .*"),
        ("defaults: {ports: {a: {vlan: 007}}}", "1:30: .*: 007 begins with 0: write 7 .*"),
        (
            "defaults: {vlans: {1: {name: office}}, ports: {a: {vlan: ofice}}}",
            "1:58: .*: there is no VLAN ofice: did you mean office.?",
        ),
        (
            "defaults: {vlans: {1: {name: office}}, ports: {a: {vlan: lab}}}",
            "1:58: .*: there is no VLAN lab: there is office",
        ),
        ("defaults: {ports: {a: {vlan: {trunk: 20-10}}}}", "1:38: .*: 20-10 is not a range of .*"),
        ("defaults: {ports: {a: {vlan: {trunk: []}}}}", "1:38: .*: no VLAN is given: .*"),
        ("defaults: {ports: {a: {vlan: {trunk: 1, access: 2}}}}", "1:24: .*: access and trunk .*"),
        ("defaults: {ports: {a: {vlan: {native: 2}}}}", "1:24: .*: native is for a trunk: .*"),
        (
            "defaults: {ports: {a: {vlan: {trunk: all, native_tagged: on}}}}",
            "1:24: .*: native_tagged needs native",
        ),
        # spanning tree and multicast
        ("defaults: {stp: {priority: 5}}", "1:28: .*: bridge priority 5 is not a multiple of .*"),
        (
            "defaults: {stp: {max_age: 40}}",
            "1:.*: defaults.stp.forward_delay: 2 × .* does not hold.*",
        ),
        (
            "defaults: {multicast: {mcast_query_interval: 5}}",
            "1:12: defaults.multicast.mcast_query_response_interval: must be less than .*",
        ),
        # entries
        (
            "bridges: {br0: {static: [{mac: 01:00:5e:00:00:01, port: a}]}}",
            "1:32: bridges.br0.static.0.mac: 01:00:5e:00:00:01 is not the address of one host",
        ),
        ("bridges: {br0: {static: [{mac: 52:54:00:00:00:01}]}}", "1:26: .*: port is missing"),
        (
            "bridges: {br0: {static: [{mac: 52:54:00:00:00:01, port: a, vlan: 5}],"
            " ports: {a: {vlan: 6}}}}",
            "1:66: bridges.br0.static.0.vlan: port a is not in VLAN 5",
        ),
        (
            "bridges: {br0: {static: [{mac: 52:54:00:00:00:01, port: a}], ports: {a: {vlan: 6}}}}",
            "1:26: bridges.br0.static.0.vlan: port a takes nothing untagged as such",
        ),
        (
            "bridges: {br0: {static: [&e {mac: 52:54:00:00:00:01, port: a}, *e]}}",
            "1:35: bridges.br0.static.1.mac: 52:.* has a static entry in VLAN 0 already",
        ),
        (
            "bridges: {br0: {mdb: [&e {group: 239.1.1.1, port: a}, *e]}}",
            "1:23: bridges.br0.mdb.1: this entry is there twice",
        ),
        # mirrors
        (
            "bridges: {br0: {mirrors: {m: {to: a}}}}",
            "1:27: .*: no port to copy from: give ingress, egress or both",
        ),
        (
            "bridges: {br0: {mirrors: {m: {to: a, both: [a, b]}}}}",
            "1:38: bridges.br0.mirrors.m.both: a would get copies of the frames that it sends",
        ),
        (
            "bridges: {br0: {mirrors: {m: {to: a, both: b}, n: {to: c, ingress: a}}}}",
            "1:68: .*: a only listens, to another mirror: nothing can be copied there",
        ),
        (
            "bridges: {br0: {mirrors: {m: {to: a, both: b}}, ports: {a: {vlan: 7}}}}",
            "1:35: bridges.br0.mirrors.m.to: a gets copies only and takes no other part: .*",
        ),
        ("bridges: {br0: {mirrors: {m: {to: a*, both: b}}}}", "1:35: .*: 'a.' is a pattern: .*"),
    ],
)
def test_one_mistake(text: str | bytes, fault: str) -> None:
    (said,) = refusal(text)
    assert re.fullmatch(fault if fault[0].isdigit() else rf"\d+:\d+: {fault}", said), said


def test_all_at_once_in_the_order_of_the_file() -> None:
    faults = refusal(
        """
        defaults: {ageing_time: x}
        bridges:
          br0: {prots: {}}
          br0: {}
          10: {}
          br1:
            ports:
              eth0: {vlan: 5}
              eth1: {isolatd: true}
        api: {port: 0}
        """
    )
    assert [line.split(":")[0] for line in faults] == ["1", "3", "4", "5", "9", "10"]


def test_what_does_not_go_together_is_reported_beside_what_is_wrong_in_the_same_bridge() -> None:
    faults = refusal(
        """
        bridges:
          br0:
            foo: 1
            vlans: {10: {name: office}, 5000: {name: lab}}
            lags: {lag0: {members: [eth8, eth8]}}
            static:
              - {mac: nonsense, port: eth1, vlan: 10}
              - {mac: "52:54:00:00:00:01", port: eth1, vlan: guests}
            ports:
              eth1: {vlan: offcie, acl: nowhere}
              eth2: {isolated: maybe, monitor: true, vlan: 10}
              eth3: {vlan: lab}
        """
    )
    assert [line.partition(": ")[2].partition(": ")[0] for line in faults] == [
        "bridges.br0.foo",
        "bridges.br0.vlans.5000",
        "bridges.br0.lags.lag0.members",
        "bridges.br0.static.0.mac",
        "bridges.br0.static.1.vlan",
        "bridges.br0.ports.eth1.vlan.access",
        "bridges.br0.ports.eth1.acl",
        "bridges.br0.ports.eth2.isolated",
        "bridges.br0.ports.eth2.vlan",
    ]  # eth3's VLAN is defined, though wrongly
    assert faults[4].startswith("8:")


def test_what_does_not_go_together_is_reported_beside_what_is_wrong_elsewhere() -> None:
    faults = refusal(
        """
        bridges:
          br0: {ports: {eth0: {isolatd: true}}}
          br1: {ports: {eth0: {acl: none}}}
        """
    )
    assert [line.split(":")[0] for line in faults] == ["2", "3"]


@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_a_mistake_in_an_anchor_is_reported_where_it_stands(key: str) -> None:
    faults = refusal(
        f"""
        defaults:
          ports:
            a: &x {{isolated: 5}}
            {key}{key}: *x
        """
    )
    assert all(line.startswith("3:22: ") for line in faults)


def test_laughter_is_bounded() -> None:
    text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    (fault,) = refusal(text)
    assert "more than 200000 values" in fault
