// Each host once, at its access port, not at ports between switches.

import { Entries, entryColumns, filterForm } from "./entries.js";
import { html, nothing, render } from "./lit.js";
import { linksByPort, topology } from "./network.js";
import { amend, link } from "./router.js";
import { Table } from "./table.js";
import { plural } from "./words.js";

export const title = "Hosts";

export async function show(place, route, signal) {
  render(html`<h1>Hosts</h1><div class="bar"></div><div class="rows"></div>`, place);
  const names = ["mac", "ip", "vlan", "port", "type"];
  const filter = () => Object.fromEntries(names.map((name) => [name, route.query.get(name) ?? ""]).filter(([, text]) => text));
  let problem = "";
  let rows = [];
  const table = new Table(place.querySelector(".rows"), {
    label: "Hosts",
    key: (entry) => `${entry.datapath_id}/${entry.vlan}/${entry.mac}`,
    columns: [...entryColumns({ bridges: true }), { name: "way", title: "Way", width: 18, cell: ways }],
    more: () => entries.more().catch(failed),
    empty: "No host fits.",
  });
  const map = await topology(signal);
  const inner = linksByPort(map.links);
  const away = new Set(map.bridges.filter((own) => !own.connected).map((own) => own.datapath_id));
  const entries = new Entries(["fdb"], () => {
    rows = attached(entries.rows, inner, away);
    table.set(rows, { whole: entries.whole, total: entries.whole ? rows.length : null });
    bar();
  }, signal);

  function failed(error) {
    if (signal.aborted) return;
    problem = error.message;
    bar();
  }

  async function look() {
    problem = "";
    await entries.restart({ ...filter(), attached: "true" }).catch(failed);
  }

  function bar() {
    render(
      html`${filterForm(filter(), (values) => {
          amend(route, { mac: "", ip: "", vlan: "", port: "", type: "", ...values });
          for (const name of names) if (!values[name]) route.query.delete(name);
          look();
        }, ["learned", "static", "local"], nothing, true)}
        <p class=${problem ? "problem" : "quiet"} role="status">${problem || `${plural(rows.length, "host")}${entries.whole ? "" : " and more"} shown, each at the port that it is attached to.`}</p>`,
      place.querySelector(".bar"),
    );
  }

  bar();
  await look();
}

// One row for each host: entries of present switches first, then the newest.
function attached(entries, inner, away) {
  const found = new Map();
  const better = (one, other) => (away.has(one.datapath_id) ? 1 : 0) - (away.has(other.datapath_id) ? 1 : 0) || (one.updated ?? 0) - (other.updated ?? 0);
  for (const entry of entries) {
    if (inner.has(`${entry.datapath_id}/${entry.port.number}`)) continue;
    const key = entry.type === "local" ? `${entry.datapath_id}/${entry.mac}` : `${entry.vlan}/${entry.mac}`;
    const known = found.get(key);
    if (!known || better(entry, known) < 0) found.set(key, { ...entry, away: away.has(entry.datapath_id) });
  }
  return [...found.values()];
}

const ways = (entry) => html`<a href=${link(["search"], { q: entry.mac })}>show</a>, <a href=${link(["map"], { way: entry.mac })}>on the map</a>`;
