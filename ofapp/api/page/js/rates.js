// Rates from counters: difference of two readings, by the time at which the switch reported them.

const KEPT = 300; // readings: ten minutes

export class Rates {
  constructor() {
    this.ports = new Map(); // number -> {last: {at, counters}, now, history: [[at, rx, tx]]}
  }

  // ports: of /v1/bridges/{dpid}/ports with counters; now: seconds of any monotonic clock.
  take(ports, now = performance.now() / 1000) {
    for (const { number, counters } of ports) {
      if (!counters) continue;
      const at = now - counters.age;
      const own = this.ports.get(number) ?? { last: null, now: null, history: [] };
      this.ports.set(number, own);
      const before = own.last;
      if (before && at - before.at < 0.2) continue; // the same reading
      own.last = { at, counters };
      if (!before) continue;
      const rate = (name) => perSecond(before.counters[name], counters[name], at - before.at);
      own.now = { rx: rate("rx_bytes"), tx: rate("tx_bytes"), rxFrames: rate("rx_frames"), txFrames: rate("tx_frames") };
      own.history.push([Date.now() / 1000 - counters.age, own.now.rx, own.now.tx]);
      if (own.history.length > KEPT) own.history.shift();
    }
  }

  now(number) {
    return this.ports.get(number)?.now ?? null;
  }

  history(number) {
    return this.ports.get(number)?.history ?? [];
  }
}

function perSecond(before, after, seconds) {
  // Counters that have decreased were reset.
  if (before === null || after === null || after < before) return null;
  return (after - before) / seconds;
}
