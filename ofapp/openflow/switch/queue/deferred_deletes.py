"""Deletes of destination halves, deferred while a switch is busy.

When a hundred thousand hosts fall silent together their source halves expire together, and so
many deletes at once would keep a switch from sending a hello for seconds.  A destination half
without its source half is harmless, so it may wait.
"""

from __future__ import annotations

from itertools import islice

from ofapp.bridge.effects import Effect, RemoveDestination
from ofapp.bridge.fdb.learned_addresses import LearnedAddresses


class DeferredDeletes:
    """Deferred deletes by address: of two for one address only the later can match its flow."""

    def __init__(self, addresses: LearnedAddresses) -> None:
        self._addresses = addresses
        self._waiting: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put_off(self, effects: list[Effect]) -> list[Effect]:
        """Keep the removals among them for later; gives the others."""
        others = []
        for effect in effects:
            if type(effect) is RemoveDestination:
                self._waiting[effect.vid, effect.mac] = effect.serial
            else:
                others.append(effect)
        return others

    def take(self, count: int) -> list[Effect]:
        """The first `count` of them, except those of addresses learned again since."""
        effects: list[Effect] = []
        for vid, mac in list(islice(self._waiting, count)):
            serial = self._waiting.pop((vid, mac))
            if not self._addresses.installed(vid, mac):
                effects.append(RemoveDestination(vid, mac, serial))
        return effects
