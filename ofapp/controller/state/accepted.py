"""Extent of the configuration file when it was last accepted, for comparison at the next start."""

from __future__ import annotations

import json
import logging

from ofapp.config.loss import Extent
from ofapp.controller.state.documents import Documents

LOG = logging.getLogger(__name__)

NAME = "configuration.json"
MAX_BYTES = 64 << 20


class AcceptedFile:
    """Extent stored in a local document of this controller, as the file is local too."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def load(self) -> Extent | None:
        """The stored extent; None when there is none, or it cannot be read."""
        try:
            kept = json.loads(self._documents.read(NAME, MAX_BYTES))
            places = [tuple(map(str, place)) for place in kept["settings"]]
            return Extent(bool(kept["ends_marked"]), frozenset(places))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            LOG.warning(
                "the extent of the previous configuration file is unknown: %s: %r", NAME, error
            )
            return None

    def save(self, accepted: Extent) -> None:
        """Soon."""
        kept = {"ends_marked": accepted.ends_marked, "settings": sorted(accepted.settings)}
        self._documents.put(NAME, json.dumps(kept).encode(), sync=True)
