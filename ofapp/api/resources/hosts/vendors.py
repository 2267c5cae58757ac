"""Vendors of network cards by the first half of the MAC address (OUI), as assigned by IEEE.

The list is from Debian's package ieee-data; without it no vendor is known, and there are no
requests to other hosts.  It is read at the first query, and other greenlets run in between.
"""

from __future__ import annotations

import csv
import logging
from pathlib import Path

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import Input
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.api.responses import answer
from ofapp.api.roles import local, viewer
from ofapp.common import hub
from ofapp.controller.network import Network

LOG = logging.getLogger(__name__)

LIST = Path("/usr/share/ieee-data/oui.csv")
MOST_PREFIXES = 64
"""Most prefixes in one request."""

TAG = Tag(name="vendors", description="Vendors of network cards.")

_ROWS = 500  # read at a time: about a millisecond
_OUI = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){2}"


class Vendors:
    """The list of vendors; empty if the file is missing."""

    def __init__(self, path: Path = LIST) -> None:
        self._path = path
        self._names: dict[int, str] | None = None

    def name(self, prefix: int) -> str | None:
        """Vendor of the first 24 bits of an address; None if not known."""
        return self._read().get(prefix)

    def prefixes(self, text: str) -> frozenset[int]:
        """Prefixes of all vendors whose name contains the text, ignoring case."""
        text = text.casefold()
        return frozenset(prefix for prefix, name in self._read().items() if text in name.casefold())

    def _read(self) -> dict[int, str]:
        if self._names is not None:
            return self._names
        names: dict[int, str] = {}
        try:
            with open(self._path, newline="", encoding="utf-8", errors="replace") as file:
                for number, row in enumerate(csv.reader(file)):
                    if number % _ROWS == 0:
                        hub.sleep(0)
                    if number and len(row) > 2:  # the first one names the columns
                        names[int(row[1], 16)] = row[2].strip()
        except (OSError, ValueError) as error:
            LOG.info("no vendors of network cards are known: %s", error)
        self._names = names
        return names


KNOWN = Vendors()
"""The list of this machine, read at first use."""


class Prefixes(Input):
    """Prefixes to look up."""

    prefix: str = Field(
        pattern=f"^{_OUI}(,{_OUI}){{0,{MOST_PREFIXES - 1}}}$",
        description=f"first halves of addresses, at most {MOST_PREFIXES}, separated by commas",
        json_schema_extra={"example": "52:54:00,00:1b:21"},
    )


class VendorList(BaseModel):
    """Vendors of the prefixes."""

    vendors: dict[str, str] = Field(
        description="by prefix, as 00:1b:21; unknown prefixes are left out"
    )


def blueprint(network: Network) -> APIBlueprint:
    """The route."""
    api = resource("vendors", TAG, "/v1/vendors")

    @api.get("", responses={200: VendorList})
    @viewer
    @local
    def named(query: Prefixes) -> Response:
        """The vendors of network cards, by the first halves of their addresses."""
        vendors = {}
        for text in query.prefix.lower().split(","):
            name = KNOWN.name(int(text.replace(":", ""), 16))
            if name is not None:
                vendors[text] = name
        return answer(VendorList(vendors=vendors))

    return api
