"""How long a switch may be silent: the same whether somebody claims its datapath id or not.

A switch that is busy for some seconds must not lose its place to whoever asks for it.
"""

from __future__ import annotations

INTERVAL = 5.0
"""Seconds between echo requests to a switch."""

UNREPLIED = 2
"""Echo requests that may be without a reply when the next one is due."""

GIVEN_UP = INTERVAL * (UNREPLIED + 1)
"""Seconds of silence after which a switch is given up."""
