"""`ofapp bench`: how fast a bridge is, beside what it replaces.

The measurements of RFC 2544 and RFC 2889, streams and transactions, over a device under test that
is set up for it: ofapp and OVS NORMAL on one datapath, the Linux bridge, a Linux router, a wire.

What decides (`search`, `figures`, `frames`, `model`, `report.tables`) has no I/O.  What is measured
with (`sender`, `listeners`, `cpu`), what is measured (`devices`), where (`bed`) and how (`rfc2544`,
`rfc2889`, `streams`, `profile`, `runner`) are apart from it and from each other.  `papers` declares
tables of papers as data: a row is a load of one of the tests, with the paper's figure for it.

Everything is measured on one machine that is also the device, so figures belong together only
within a run: devices take turns in every repetition and are compared within it.
"""

from __future__ import annotations


class BenchError(Exception):
    """A failure and its remedy, in one line for the user."""
