"""From perf's output to the cost of a frame by part, and the report of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.bench import BenchError
from ofapp.bench.devices import Cycles
from ofapp.bench.devices.ovs import parse_cycles
from ofapp.bench.model import Results, Sample
from ofapp.bench.names import Measurement
from ofapp.bench.profile.parts import Owners, Part
from ofapp.bench.profile.perf import Counters, available, parse, why_not
from ofapp.bench.profile.task import costs, shares
from ofapp.bench.report import profile
from ofapp.bench.report.plots import plots
from ofapp.bench.report.tables import Table, remarks
from tests.unit.bench.conftest import NORMAL, OFAPP, WIRE, results

SENDER, SWITCH, STRANGER = 100, 200, 300
OWNERS = Owners(SENDER, (SWITCH,))
SAID = """\
          python   100     100000 cpu-clock:  ffffffff82255667 br_handle_frame ([kernel.kallsyms])
  Thread-7 (_run)  300     100000 cpu-clock:u:      7f2a194acf16 [unknown] (/usr/bin/python3.11)
         swapper     0     100000 cpu-clock:  ffffffffc0001234 e1000_clean ([e1000])
  pmd-c01/id:9   200   250000 cpu_core/cycles/P:      56211 operator new(int) (/a (b)/x.so)
"""


def line(program: str, process: int, symbol: str, where: str = "[kernel.kallsyms]") -> str:
    address = "ffffffff82255667" if where.startswith("[k") else "7f2a194acf16"
    return f"{program} {process} 1000 cpu-clock: {address} {symbol} ({where})\n"


def part(program: str, process: int, symbol: str, where: str = "[kernel.kallsyms]") -> Part | None:
    (sample,) = parse(line(program, process, symbol, where))
    return OWNERS.part(sample)


def test_samples_of_perf() -> None:
    bridge, stranger, idle, switch = parse(SAID)
    assert (bridge.program, bridge.process, bridge.period) == ("python", SENDER, 100_000)
    assert (bridge.symbol, bridge.in_kernel) == ("br_handle_frame", True)
    assert (stranger.program, stranger.process, stranger.in_kernel) == (
        "Thread-7 (_run)",
        STRANGER,
        False,
    )
    assert (idle.binary, idle.in_kernel) == ("[e1000]", True)
    assert (switch.event, switch.symbol, switch.binary) == (
        "cycles",
        "operator new(int)",
        "/a (b)/x.so",
    )


@pytest.mark.parametrize(
    "said",
    [
        "python 100 cpu-clock: ffffffff82255667 br_handle_frame ([kernel.kallsyms])",
        "python 100 1000 page-faults: ffffffff82255667 br_handle_frame ([kernel.kallsyms])",
        "WARNING: The perf.data file's data size field is 0",
        "python 100 1000 cpu-clock: zzzz br_handle_frame (x)",
    ],
)
def test_a_line_that_is_no_sample_is_shown(said: str) -> None:
    with pytest.raises(BenchError, match=r"perf script: a line that is no sample: \w+"):
        parse(said)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("veth_xmit", Part.DRIVER),
        ("ixgbe_poll", Part.DRIVER),
        ("xsk_generic_xmit", Part.DRIVER),
        ("__netif_receive_skb_core.constprop.0", Part.STACK),
        ("process_backlog", Part.STACK),
        ("br_handle_frame", Part.BRIDGE),
        ("fdb_find_rcu", Part.BRIDGE),
        ("ovs_flow_tbl_lookup_stats", Part.BRIDGE),
        ("kmem_cache_alloc_node_noprof", Part.MEMORY),
        ("__alloc_skb", Part.MEMORY),
        ("_raw_spin_unlock_irqrestore", Part.LOCKS),
        ("__rcu_read_lock", Part.LOCKS),
        ("packet_sendmsg", Part.ENDS),
        ("__x86_indirect_thunk_rax", Part.REST),
        ("asm_sysvec_apic_timer_interrupt", None),
    ],
)
def test_parts_of_the_generators_way_through_the_kernel(symbol: str, expected: Part | None) -> None:
    assert part("python", SENDER, symbol) == expected
    assert part("ksoftirqd/1", 15, symbol) in (expected, None)


def test_system_calls_are_the_ports_of_a_switch_in_user_space() -> None:
    assert part("ovs-vswitchd", SWITCH, "packet_sendmsg") is Part.DRIVER
    assert part("ovs-vswitchd", SWITCH, "br_handle_frame") is Part.BRIDGE


@pytest.mark.parametrize(
    ("symbol", "where", "expected"),
    [
        ("[unknown]", "/usr/sbin/ovs-vswitchd", Part.BRIDGE),
        ("dpcls_lookup", "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", Part.BRIDGE),
        ("netdev_linux_rxq_recv", "/usr/sbin/ovs-vswitchd", Part.DRIVER),
        ("_int_malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", Part.MEMORY),
        ("pthread_mutex_lock@@GLIBC_2.2.5", "/usr/lib/x86_64-linux-gnu/libc.so.6", Part.LOCKS),
        ("[unknown]", "/usr/bin/python3.11", Part.REST),
    ],
)
def test_parts_of_a_switch_in_user_space(symbol: str, where: str, expected: Part) -> None:
    assert part("pmd-c01/id:9", SWITCH, symbol, where) is expected


def test_other_programs_idle_processors_and_the_generators_own_time_do_not_count() -> None:
    assert part("python", SENDER, "[unknown]", "/usr/bin/python3.11") is None
    assert part("python", SENDER, "__vdso_clock_gettime", "[vdso]") is None
    assert part("gcc", STRANGER, "veth_xmit") is None
    assert part("gcc", STRANGER, "malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6") is None
    assert part("swapper", 0, "pv_native_safe_halt") is None
    assert part("swapper", 0, "e1000_clean") is Part.DRIVER


def test_cost_is_that_of_a_forwarded_frame() -> None:
    samples = parse(
        line("python", SENDER, "veth_xmit") * 150
        + line("python", SENDER, "br_forward") * 50
        + line("gcc", STRANGER, "veth_xmit") * 50
        + f"python {SENDER} 7000 cycles:P: ffffffff82255667 br_forward ([kernel.kallsyms])\n"
    )
    values = costs(samples, OWNERS, 100)
    assert values["samples"] == 200
    assert (values["driver_ns"], values["bridge_ns"], values["locks_ns"]) == (1500, 500, 0)
    assert (values["bridge_cycles"], values["driver_cycles"]) == (70, 0)
    assert "bridge_misses" not in values


def test_too_few_samples_are_refused() -> None:
    samples = parse(line("python", SENDER, "veth_xmit") * 10)
    with pytest.raises(BenchError, match=r"10 samples of 5 frames: too few.*--seconds"):
        costs(samples, OWNERS, 5)
    with pytest.raises(BenchError, match="of 0 frames"):
        costs(parse(line("python", SENDER, "veth_xmit") * 500), OWNERS, 0)


def test_counters_that_a_machine_lacks_are_named_with_the_reason() -> None:
    said = (
        "123456;;cycles;100;100.00;;\n"
        "<not supported>;;cache-references;0;100.00;;\n"
        "<not counted>;;cache-misses;0;0.00;;\n"
    )
    assert available(said, "it is old") == Counters(
        ("cycles",),
        "cache-references, cache-misses: not counted on this machine, as it is old",
    )
    everything = "".join(
        f"5;;{name};1;1;;\n" for name in ("cycles", "cache-references", "cache-misses")
    )
    assert available(everything, "") == Counters(("cycles", "cache-references", "cache-misses"))
    assert available("5;;cpu_core/cycles/;1;1;;\n", "").events == ("cycles",)
    assert available("Error:\nno permission", "why").events == ()


def test_why_counters_may_be_missing(tmp_path: Path) -> None:
    assert "no performance monitoring unit" in why_not(tmp_path, tmp_path / "none")
    (tmp_path / "cpu").mkdir()
    level = tmp_path / "paranoid"
    level.write_text("3\n")
    assert "kernel.perf_event_paranoid is 3" in why_not(tmp_path, level)


def test_open_vswitchs_own_count_of_cycles() -> None:
    shown = """\
pmd thread numa_id 0 core_id 1:
  packets received: 40
  idle cycles: 12 (1.00%)
  processing cycles: 4000 (99.00%)
pmd thread numa_id 0 core_id 2:
  packets received: 10
  processing cycles: 1000 (99.00%)
main thread:
  packets received: 7
"""
    assert parse_cycles(shown) == Cycles(5000, 50)
    assert parse_cycles("main thread:\n  packets received: 7\n") is None


def test_open_vswitch_4_tells_the_cycles_of_a_frame() -> None:
    shown = """\

Time: 23:35:18.006
Measurement duration: 1.000 s

pmd thread numa_id 0 core_id 1:

  Iterations:               168611  (9873313134.97 us/it)
  - Used TSC cycles:    1664749201  (166474920100.0 % of total cycles)
  - idle iterations:        168591  (100.0 % of used cycles)
  - busy iterations:            20  (  0.0 % of used cycles)
  Rx packets:                   20  (0 Kpps, 41184 cycles/pkt)
  Datapath passes:              20  (1.00 passes/pkt)
  Tx packets:                    0

pmd thread numa_id 0 core_id 2:

  Iterations:               168611  (9873313134.97 us/it)
  - Used TSC cycles:    1664749201  (166474920100.0 % of total cycles)
  Rx packets:                    0
  Tx packets:                    0

main thread:

  Rx packets:                    7
  Tx packets:                    0
"""
    assert parse_cycles(shown) == Cycles(20 * 41184, 20)
    assert parse_cycles("main thread:\n\n  Rx packets:                    7\n") is None


def profiled(device: str, hosts: float, nanoseconds: float, repetition: int = 0) -> Sample:
    values = {f"{part}_ns": nanoseconds for part in Part} | {"rate": 100_000.0}
    return Sample(
        test=Measurement.PROFILE,
        device=device,
        repetition=repetition,
        at={"addresses": hosts},
        values=values,
    )


def tables(measured: Results) -> list[Table]:
    (filled,) = profile.chapter(measured)
    assert "Anatomy of a Linux bridge" in filled.chapter.text
    return filled.tables


def test_the_tables_of_the_paper_and_what_many_hosts_add() -> None:
    samples = [
        profiled(device, hosts, cost * (1.0 if hosts == 2 else 1.5))
        for device, cost in ((WIRE, 10.0), (NORMAL, 100.0), (OFAPP, 101.0))
        for hosts in (2.0, 2048.0)
    ]
    few, many, growth = tables(results(*samples))
    assert few.title == "CPU time, ns a frame, 2 hosts (after Varis, tables 1 and 2)"
    assert few.header == [
        *("", "Driver", "Stack", "Bridge", "Memory", "Locks", "Rest", "Sum", "Ends"),
        "1000 frames/s",
    ]
    assert few.rows[1] == [NORMAL, *["100"] * 6, "600", "100", "100"]
    assert many.title.startswith("CPU time, ns a frame, 2,048 hosts")
    assert growth.rows[2] == [OFAPP, *["1.50"] * 7]


def test_counters_have_tables_where_they_were_counted() -> None:
    counted = profiled(NORMAL, 2.0, 1.0)
    more = counted.values | {f"{part}_misses": 3.0 for part in Part} | {"switch_cycles": 420.0}
    titles = [table.title for table in tables(results(counted.model_copy(update={"values": more})))]
    assert titles == [
        "CPU time, ns a frame, 2 hosts (after Varis, tables 1 and 2)",
        "Cache misses a frame, 2 hosts (after Varis, tables 1 and 2)",
        "Open vSwitch's own count for its polling threads, cycles a frame",
    ]


def test_a_run_without_profile_has_no_chapter(run: Results) -> None:
    assert profile.chapter(run) == []
    assert "profile" not in plots(run)


def test_the_plot_names_devices_hosts_and_parts() -> None:
    drawn = plots(results(profiled(NORMAL, 2.0, 5.0), profiled(NORMAL, 2048.0, 6.0)))["profile"]
    for text in (f"{NORMAL}, 2,048", f"{NORMAL}, 2<", "memory", "locks"):
        assert text in drawn


def test_counters_that_are_missing_are_in_the_report() -> None:
    noted = results(profiled(NORMAL, 2.0, 1.0)).model_copy(update={"notes": ("no cycles here",)})
    assert remarks(noted) == ["no cycles here"]


def test_varis_shares_count_netfilter_as_the_bridge() -> None:
    said = "".join(
        line("python", SENDER, symbol) * times
        for symbol, times in (
            *(("veth_xmit", 2), ("netif_rx", 2), ("kfree", 1), ("_raw_spin_lock", 1)),
            *(("br_fdb_update", 1), ("nf_hook_slow", 3)),
        )
    )
    found = shares(parse(said), OWNERS)
    assert found["interface:time"] == pytest.approx(0.4)
    assert found["bridge:time"] == pytest.approx(0.4)
    assert found["memory:time"] == found["locks:time"] == pytest.approx(0.1)
    assert found["nf_hook_slow:time"] == pytest.approx(0.75)
    assert found["br_fdb_update:time"] == pytest.approx(0.25)
    assert not any(key.endswith((":ns", ":cycles", ":misses")) for key in found)
