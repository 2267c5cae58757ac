"""Keeping a switch in line with its bridge, for as long as it is connected.

It is compared when it connects, periodically, on request, and when a flow was deleted from outside.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

from ofapp.bridge.desired import used_lists
from ofapp.bridge.effects import Effect
from ofapp.bridge.fdb.learning import Sample
from ofapp.bridge.params.params import BridgeParams
from ofapp.common import hub
from ofapp.openflow.switch.audit.program import Changes, Program, difference
from ofapp.openflow.switch.audit.reconciler import Reconciler
from ofapp.openflow.switch.audit.sweep import Occasion
from ofapp.openflow.switch.audit.sweeper import Sweeper
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.counters.drops import Counters
from ofapp.openflow.switch.counters.pace import Pace, spread
from ofapp.openflow.switch.counters.rates import MeterWatch, Policer
from ofapp.openflow.switch.encode.writer import EffectWriter
from ofapp.openflow.switch.queue.delivery import Delivery, Way
from ofapp.openflow.wire.refusals import Refusal, Refusals
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

PAUSE = 1.0
"""Least seconds between two comparisons of a switch."""

TOGETHER = 0.1
"""Seconds in which deletions are taken for one."""


class Upkeep:
    """Upkeep of one switch, whose effects are carried out by way of `delivery`.

    adopt_static: take the bridge's static entries, which no other place has, from the switch.
    reconciler: compares the switch with the bridge; counters, held_back: as of the last poll.
    """

    def __init__(self, switch: ConnectedSwitch, delivery: Delivery, adopt_static: bool) -> None:
        self.counters = Counters(switch)
        self.refusals = Refusals()
        self._channel = switch.channel
        self._bridge = switch.bridge
        self._apply = switch.apply
        self._delivery = delivery
        self._adopt_static = adopt_static
        self._meters = MeterWatch()
        self.reconciler = Reconciler(switch, self.counters, delivery)
        self._sweeper = Sweeper(switch, delivery.drain)
        self._policer = Policer(switch.bridge.sighting_rate)
        self._check = hub.Event()
        self._deleted = hub.Event()
        self._reconciling = hub.Lock()

    @property
    def writer(self) -> EffectWriter:
        """The encoder of effects, which knows what the switch holds."""
        return self.reconciler.writer

    @property
    def metered(self) -> bool:
        """Whether the switch has meters: without them no rate is kept."""
        return self.reconciler.metered

    @property
    def held_back(self) -> Mapping[str, Mapping[int, int]]:
        """Frames for the controller that came too fast, by kind and port."""
        return self._meters.dropped

    def admit(self, samples: list[Sample]) -> list[Sample]:
        """The sightings that are within their ports' rates, which a switch's meters see to."""
        return (
            samples if self.reconciler.metered else self._policer.admit(samples, time.monotonic())
        )

    def check_soon(self) -> None:
        """Look at the switch as soon as may be: the bridge wants other flows there than before."""
        self._check.set()

    def ask_acl_counters(self) -> None:
        """Look again, at these counters alone; when the switch is silent they stay as they are."""
        if used_lists(self._bridge.params):
            try:
                self.counters.ask_acls(self.metered)
            except (RequestError, ValueError) as error:
                LOG.warning("bridge %s: counters are not up to date: %s", self._bridge.name, error)

    def plan(self, params: BridgeParams) -> Changes:
        """What other parameters would change in the switch, except what protocols do then."""
        portions = hub.portions()
        before = self.writer.installed.copy()
        desired = self._bridge.desired_as_of_now(params)(portions)
        return difference(before, self.writer.wanted(desired, portions), portions)

    def reconfigure(self, effects: list[Effect]) -> Callable[[], Changes]:
        """Carry a change out; gives a function for what that changed in the switch, whose state is
        then checked.

        What has to wait for the switch (a barrier) is not in it.  For a bridge of thousands of
        ports it is computed in portions, and other changes made meanwhile are in it, too.
        """
        before = self.writer.installed.copy()
        if self._delivery.way is not Way.SHUT and used_lists(self._bridge.params):
            self.counters.save_acls()
        self._apply(effects)
        self.check_soon()
        if self._delivery.crowded:
            return partial(self._changed_since, before)
        changes = difference(before, self.writer.installed)
        return lambda: changes

    def deleted(self) -> None:
        """A flow of ours is gone: whether it was our doing is known by how many are to go."""
        if self.writer.removed:
            self.writer.removed -= 1
        else:
            self._deleted.set()

    def refused(self, refusal: Refusal) -> None:
        """The switch refused something: the next comparison finds out what is missing.

        A bundle is refused as a whole, so addresses are sent one by one for a while.
        """
        if refusal.learned:
            self.writer.bundles = False
        if told := self.refusals.add(refusal, time.monotonic()):
            self._apply([*told])
        if refusal.holds:
            self._check.set()

    def _changed_since(self, before: Program) -> Changes:
        self._delivery.await_barrier()
        return difference(before, self.writer.installed.copy(), hub.portions())

    # What happens by itself

    def run(self, programmed: Callable[[], None], checked: Callable[[], None]) -> None:
        """Keep it in line, until the connection ends.

        programmed: called whenever the switch holds what effects build on; checked: whenever all
        has been checked, its learned addresses too.
        """
        occasion, pause = Occasion.CONNECTED, PAUSE
        while self._channel.send_q is not None:
            try:
                self._bring_in_line(occasion, programmed, checked)
                occasion = Occasion.ROUTINE
            except (RequestError, ValueError) as error:
                self._channel.counters["failed_sweeps"] += 1
                LOG.warning("bridge %s: %s; trying again", self._bridge.name, error)
                hub.sleep(spread(pause))  # and soon: until then nothing opens on it
                pause = min(2 * pause, self._interval)
                continue
            pause = PAUSE if self.refusals.in_line else min(2 * pause, self._interval)
            self._check.wait(spread(self._interval))
            self._check.clear()
            hub.sleep(pause)  # a switch that refuses everything is not asked without end

    @property
    def _interval(self) -> float:
        """A tenth of the ageing time: how far `updated` and `used` may lag behind."""
        return min(max((self._bridge.params.ageing_time or 600) / 10, 5.0), 60.0)

    def _bring_in_line(
        self, occasion: Occasion, programmed: Callable[[], None], checked: Callable[[], None]
    ) -> None:
        if occasion is Occasion.CONNECTED:
            self.reconciler.prepare()
        began = time.monotonic()
        with self._reconciling:
            known = self.reconciler.reconcile(self._adopt_static)
        self._adopt_static = False
        programmed()
        if occasion is Occasion.CONNECTED and not known and len(self._bridge.addresses):
            occasion = Occasion.RESTARTED
        self._sweeper.sweep(occasion, self.writer)
        stats = self.counters.ask_meters() if self.metered else []
        events = self._meters.observe(self._policer.dropped, stats)
        self._apply([*events, *self.refusals.checked(began, time.monotonic())])
        self.writer.bundles = self.refusals.takes_addresses
        checked()

    def put_back(self) -> None:
        """Put back flows that were deleted from outside, before the next full comparison.

        A switch does not report which controller deleted a flow, so there may be nothing to do.
        """
        pace, addresses = Pace(), self._bridge.addresses
        while True:
            self._deleted.wait()
            hub.sleep(TOGETHER)
            self._deleted.clear()
            before = addresses.counted("mended")
            try:
                with pace.resting(), self._reconciling:
                    self.reconciler.reconcile(adopt_static=False)
            except (RequestError, ValueError) as error:
                LOG.warning(
                    "bridge %s: %s; the next comparison repairs it", self._bridge.name, error
                )
            if addresses.counted("mended") > before:
                self.check_soon()
