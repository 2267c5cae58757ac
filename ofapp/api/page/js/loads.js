// Load of links, from the counters of one end.

import { get } from "./api.js";
import { linkId } from "./drawing.js";
import { Rates } from "./rates.js";

export class Loads {
  constructor() {
    this.rates = new Map(); // datapath id -> Rates
  }

  // links: of /v1/topology.  Returns a Map: id of the link -> {forth, back}, octets a second from a to b and back.
  async of(links, signal) {
        const ends = links.filter((own) => own.a.connected || own.b.connected).map((own) => [own, own.a.connected ? "a" : "b"]);
    const asked = new Set(ends.map(([own, side]) => own[side].datapath_id));
    await Promise.all([...asked].map((id) => this.ask(id, signal)));
    const found = new Map();
    for (const [own, side] of ends) {
      const now = this.rates.get(own[side].datapath_id)?.now(own[side].port.number);
      if (now) found.set(linkId(own), side === "a" ? { forth: now.tx, back: now.rx } : { forth: now.rx, back: now.tx });
    }
    return found;
  }

  async ask(id, signal) {
    const { ports } = await get(["bridges", id, "ports"], { counters: "true" }, signal).catch(() => ({ ports: [] }));
    if (!this.rates.has(id)) this.rates.set(id, new Rates());
    this.rates.get(id).take(ports);
  }
}
