"""Checks that keep a switch in sync with its bridge while it is connected.

It is compared when it connects, periodically, on request, and when a flow was deleted from outside.
"""

import logging
import time
from collections.abc import Collection, Iterator, Mapping

from ofapp.bridge.effects import Effect
from ofapp.bridge.params.params import used_lists
from ofapp.common import hub
from ofapp.openflow.switch.audit.reconciler import Reconciler, prepare
from ofapp.openflow.switch.audit.sweep import Occasion
from ofapp.openflow.switch.audit.sweeper import Sweeper
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.counters.drops import Counters
from ofapp.openflow.switch.counters.pace import Pace, spread
from ofapp.openflow.switch.counters.rates import MeterWatch, Policer
from ofapp.openflow.switch.phase import Transition
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.refusals import Refusal, Refusals
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

PAUSE = 1.0
"""Least seconds between two comparisons of a switch."""

TOGETHER = 0.1
"""Seconds in which deletions are taken for one."""


class Upkeep:
    """Upkeep of one switch.

    adopt_static: take the bridge's static entries, which no other place has, from the switch.
    counters, held_back: as of the last poll; policer: for a switch that has no meters.
    polled: when `held_back` was counted last, monotonic; None before that.
    """

    def __init__(self, channel: Channel, bridge: SwitchBridge, adopt_static: bool) -> None:
        self.counters = Counters(channel, bridge)
        self.refusals = Refusals()
        self.policer = Policer(bridge.sighting_rate)
        self._channel = channel
        self._bridge = bridge
        self._adopt_static = adopt_static
        self.polled: float | None = None
        self._meters = MeterWatch()
        self._check = hub.Event()
        self._deleted = hub.Event()
        self._reconciling = hub.Lock()

    @property
    def held_back(self) -> Mapping[str, Mapping[int, int]]:
        """Frames for the controller that came too fast, by kind and port."""
        return self._meters.dropped

    @property
    def limited(self) -> Mapping[str, Collection[int]]:
        """Ports with frames that the last poll found dropped or held back, by kind."""
        return self._meters.limited

    def check_soon(self) -> None:
        """Look at the switch as soon as may be: the bridge wants other flows there than before."""
        self._check.set()

    def ask_acl_counters(self, metered: bool) -> list[Effect]:
        """Look again, at these counters alone; when the switch is silent they stay as they are."""
        if used_lists(self._bridge.params):
            try:
                return self.counters.ask_acls(metered)
            except (RequestError, ValueError) as error:
                LOG.warning("bridge %s: counters are not up to date: %s", self._bridge.name, error)
        return []

    def deleted(self) -> None:
        """A flow was deleted, and not by this controller."""
        self._deleted.set()

    def refused(self, refusal: Refusal) -> list[Effect]:
        """The switch refused something: the next comparison finds out what is missing."""
        if refusal.holds:
            self._check.set()
        return [*self.refusals.add(refusal, time.monotonic())]

    # Loops

    def run(self, switch: ConnectedSwitch) -> Iterator[Transition]:
        """Keep the switch in sync, until the connection ends.

        Gives PROGRAMMED whenever the switch holds what effects build on, and CHECKED whenever all
        has been checked, its learned addresses too.
        """
        occasion, pause, sweeper = Occasion.CONNECTED, PAUSE, Sweeper(switch)
        while self._channel.send_q is not None:
            try:
                yield from self._bring_in_line(occasion, switch, sweeper)
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
        self, occasion: Occasion, switch: ConnectedSwitch, sweeper: Sweeper
    ) -> Iterator[Transition]:
        if occasion is Occasion.CONNECTED:
            prepare(switch)
        began = time.monotonic()
        with self._reconciling:
            known = Reconciler(switch, self.counters).reconcile(self._adopt_static)
        self._adopt_static = False
        yield Transition.PROGRAMMED
        if occasion is Occasion.CONNECTED and not known and len(self._bridge.addresses):
            occasion = Occasion.RESTARTED
        sweeper.sweep(occasion)
        stats, events = self.counters.ask_meters() if switch.installed.metered else ([], [])
        events += self._meters.observe(self.policer.dropped, stats)
        self.polled = time.monotonic()
        switch.apply([*events, *self.refusals.checked(began, time.monotonic())])
        switch.installed.bundles = self.refusals.takes_addresses
        yield Transition.CHECKED

    def put_back(self, switch: ConnectedSwitch) -> None:
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
                    Reconciler(switch, self.counters).reconcile(adopt_static=False)
            except (RequestError, ValueError) as error:
                LOG.warning(
                    "bridge %s: %s; the next comparison repairs it", self._bridge.name, error
                )
            if addresses.counted("mended") > before:
                self.check_soon()
