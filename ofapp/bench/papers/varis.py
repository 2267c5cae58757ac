"""N. Varis, Anatomy of a Linux bridge (Aalto University, 2012).

The highest rate that a Linux bridge forwards both ways (RFC 2889, frames of 64 octets), and at that
rate where the processor's cycles, cache references and cache misses are, with one host at each port
and with 1,024.
"""

from __future__ import annotations

from ofapp.bench.names import Dut, Measurement
from ofapp.bench.papers import Column, Exhibit, Head, Lack, Length, Paper, Row
from ofapp.bench.papers.found import (
    BRIDGES,
    NO_HARDWARE,
    At,
    Claims,
    Figure,
    Found,
    Judged,
    Verdict,
    exact,
    judge,
    listed,
)

_CLAIMS = Claims()
_TEST = Measurement.PROFILE
_LINUX = "Linux bridge"
_FEW: At = {"addresses": 2, "duplex": 1}
_MANY: At = {"addresses": 2_048, "duplex": 1}
_UNCOUNTED = "not counted here"
_NETFILTER = ("nf_", "br_nf_", "nft_")
_LOOKUPS = ("br_fdb_update", "br_fdb_find_rcu", "fdb_find_rcu", "memcmp", "rht", "__rht", "jhash")
_SUBSYSTEMS = ("interface", "bridge", "memory", "locks")


def _columns() -> tuple[Column, ...]:
    """Cycles, cache references and misses, each with 2 and with 2,048 hosts."""
    return tuple(
        Column(f"{title}, {hosts:,.0f} hosts, %", event, 100, lost=lost, at=at)
        for title, event, lost in (
            ("Cycles", "time", "none sampled"),
            ("Cache references", "references", _UNCOUNTED),
            ("Cache misses", "misses", _UNCOUNTED),
        )
        for at in (_FEW, _MANY)
        for hosts in (at["addresses"],)
    )


_COUNTERS = Lack(
    "Performance counters",
    "Where the processor counts no cycles (the remarks say so), CPU time by perf's clock stands in"
    " their place; cache references and misses then cannot be counted.",
)
_TESTER = Lack(
    "Spirent TestCenter, two links of 1 Gbit/s",
    "One processor of this machine sends from both ends in turn; cables are veth pairs, so"
    " Interface is their driver and the kernel's network stack.",
)
_SYMBOLS = Lack(
    "Functions of the datapath",
    "The bridge of Open vSwitch's netdev datapath is a program, which has no symbols in a"
    " distribution's package: it is one row of the table of busiest functions.",
)


def _rates(found: Found) -> list[list[str]]:
    """The forwarding rates that were found."""
    labels = found.labels(*BRIDGES)
    rows = [["Forwarded, frames/s", *labels]]
    for name, at in (("2 hosts", _FEW), ("2,048 hosts", _MANY)):
        rates = [found.value(_TEST, label, "rate", at) for label in labels]
        rows.append([name, *("not measured" if one is None else f"{one:,.0f}" for one in rates)])
    return rows


def _functions(found: Found, label: str, at: At, event: str = "time") -> dict[str, float]:
    """Each function's share of the bridge's time or of another event, most first."""
    end = f":{event}"
    shares = {
        key.removesuffix(end): found.value(_TEST, label, key, at) or 0.0
        for sample in found.samples(_TEST, label, at)
        for key in sample.values
        if key.endswith(end) and key.removesuffix(end) not in _SUBSYSTEMS
    }
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def _busiest(found: Found) -> list[list[str]]:
    """The four busiest functions of each bridge."""
    labels = found.labels(*BRIDGES)
    names = [f"{label}, {hosts} hosts" for label in labels for hosts in ("2", "2,048")]
    each = [
        [f"{name} {share:.1%}" for name, share in _functions(found, label, at).items()]
        for label in labels
        for at in (_FEW, _MANY)
    ]
    ranks = [[*one[:4], *["none sampled"] * (4 - len(one))] for one in each]
    return [["Busiest functions", *names]] + [
        [str(rank + 1), *(one[rank] for one in ranks)] for rank in range(4)
    ]


_TABLE_1 = Exhibit(
    "table 1",
    "Distribution of work between subsystems",
    "Shares of the counted events. The highest rate without loss, both ways, is searched to 1 %;"
    " then five runs at that rate are sampled by perf. Netfilter counts as the bridge.",
    _TEST,
    BRIDGES,
    (Head("Subsystem"),),
    _columns(),
    (
        Row({}, (45.7, 40.5, 55.0, 42.2, 77.5, 77.9), name="Interface", key="interface:"),
        Row({}, (21.0, 29.2, 11.1, 31.5, 4.2, 3.8), name="Bridge", key="bridge:"),
        Row({}, (19.6, 17.2, 28.8, 22.0, 5.1, 5.4), name="Memory/IO", key="memory:"),
        Row({}, (13.7, 13.2, 5.2, 4.3, 13.2, 12.9), name="Locks", key="locks:"),
    ),
    lacks=(_COUNTERS, _TESTER),
    marks=_rates,
)
_ABSENT = "not a function of it"
_TABLE_2 = Exhibit(
    "table 2",
    "Functions of the bridge",
    "Shares of the events within the bridge. The kernel of 2012 had `nf_iterate` and"
    " `__br_fdb_get`; `nf_hook_slow` and `fdb_find_rcu` have taken their place.",
    _TEST,
    BRIDGES,
    (Head("Function"),),
    _columns(),
    tuple(
        Row({}, said, (Dut.LINUX,), _ABSENT, name, f"{name.rpartition(' ')[2]}:")
        for name, said in (
            ("nf_iterate, now nf_hook_slow", (19.6, 13.2, 2.3, 3.4, 12.1, 8.8)),
            ("br_fdb_update", (18.2, 26.1, 42.0, 39.0, 0.1, 0.3)),
            ("br_handle_frame", (13.5, 8.6, 2.7, 1.1, 3.7, 6.9)),
            ("__br_fdb_get, now fdb_find_rcu", (10.0, 23.6, 41.3, 42.9, 0.1, 0.6)),
        )
    ),
    lacks=(_COUNTERS, _SYMBOLS),
    marks=_busiest,
)


def _of_bridge(found: Found, names: tuple[str, ...], at: At, event: str = "time") -> float:
    functions = _functions(found, _LINUX, at, event)
    return sum(share for name, share in functions.items() if name.startswith(names))


@_CLAIMS.add("Most time is in driver and interface, not in the bridge.", "4.2", "table 1")
def _interface(found: Found) -> Judged:
    shares = {
        part: span
        for part in _SUBSYSTEMS
        for span in found.spans(Figure(_TEST, f"{part}:time", _FEW), Dut.LINUX).values()
    }
    others = [span.middle for part, span in shares.items() if part != "interface"]
    lead = {"interface": exact(shares["interface"].middle / max(others))} if others else {}
    return judge(lead, f"Linux bridge: {listed(shares, '.0%')}.", low=1)


@_CLAIMS.add(
    "Netfilter, without a rule, takes more time than any other function.", "4.2", "table 2"
)
def _netfilter(found: Found) -> Judged:
    functions = _functions(found, _LINUX, _FEW)
    share = _of_bridge(found, _NETFILTER, _FEW)
    busiest = next((name for name in functions if not name.startswith(_NETFILTER)), "no other")
    most = functions.get(busiest, 0.0)
    text = f"Netfilter's functions take {share:.0%} of the Linux bridge's time here; the busiest of"
    text += f" the others is {busiest} with {most:.0%}."
    return judge({_LINUX: exact(share / most)} if most else {}, text, low=1)


@_CLAIMS.add("More hosts cost the bridge more time for each frame.", "4.2", "table 1, table 2")
def _grows(found: Found) -> Judged:
    few, many = (Figure(_TEST, "bridge_ns", at) for at in (_FEW, _MANY))
    said = [listed(found.spans(one, *BRIDGES), ",.0f") for one in (few, many)]
    text = f"The part of the bridge, ns a frame, with 2 hosts: {said[0]}; with 2,048: {said[1]}."
    return judge(found.spans(many, Dut.LINUX, over=few), text, low=1.05)


@_CLAIMS.add("With 2,048 hosts the table's functions take most time.", "4.2", "table 2")
def _lookups(found: Found) -> Judged:
    few, many = (_of_bridge(found, _LOOKUPS, at) for at in (_FEW, _MANY))
    text = f"Updates and look-ups take {few:.0%} of the bridge's time with 2 hosts, {many:.0%} with"
    text += " 2,048; in the paper 28 % and 50 %."
    return judge({_LINUX: exact(many)} if _functions(found, _LINUX, _MANY) else {}, text, low=0.4)


@_CLAIMS.add("Forwarding happens within the processor's caches.", "4.2", "table 1")
def _cache(found: Found) -> Judged:
    misses, references = (
        found.spans(Figure(_TEST, f"bridge:{event}", _FEW), Dut.LINUX)
        for event in ("misses", "references")
    )
    said = f"The bridge's share of misses: {listed(misses, '.1%')}; of references:"
    return _counted(found, judge(misses, f"{said} {listed(references, '.1%')}.", high=0.1))


@_CLAIMS.add(
    "The table's functions have most cache references, and next to no misses.", "4.2", "table 2"
)
def _table_references(found: Found) -> Judged:
    references, misses = (
        _of_bridge(found, _LOOKUPS, _FEW, event) for event in ("references", "misses")
    )
    text = f"Updates and look-ups make {references:.1%} of the bridge's cache references and"
    shares = {"references": exact(references), "hits": exact(1 - misses)}
    return _counted(found, judge(shares, f"{text} {misses:.1%} of its misses.", low=0.5))


@_CLAIMS.add("Most cache misses are netfilter's.", "4.2", "table 2")
def _netfilter_misses(found: Found) -> Judged:
    share = _of_bridge(found, _NETFILTER, _FEW, "misses")
    text = f"Netfilter's functions have {share:.0%} of the bridge's cache misses."
    return _counted(found, judge({_LINUX: exact(share)}, text, low=0.5))


def _counted(found: Found, judged: Judged) -> Judged:
    """A verdict on cache misses, where they are counted."""
    if any("bridge:misses" in one.values for one in found.samples(_TEST, _LINUX, _FEW)):
        return judged
    return Verdict.UNSEEN, "This machine counts neither cache references nor misses."


_CLAIMS.add("Software cannot compete with a vendor's hardware.", "5", "table 1, table 2")(
    NO_HARDWARE
)
PAPER = Paper(
    "N. Varis, Anatomy of a Linux bridge (2012)",
    (_TABLE_1, _TABLE_2),
    _CLAIMS,
    quick=Length(0.2, 1),
    usual=Length(0.5, 3),
)
