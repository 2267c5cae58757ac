// Every address that any switch knows.

import { Entries, entryColumns, filterForm } from "./entries.js";
import { html, nothing, render } from "./lit.js";
import { amend } from "./router.js";
import { Table } from "./table.js";
import { count } from "./words.js";

export const title = "Hosts";

export async function show(place, route, signal) {
  render(html`<h1>Hosts</h1><div class="bar"></div><div class="rows"></div>`, place);
  const names = ["mac", "ip", "vlan", "port", "type"];
  const filter = () => Object.fromEntries(names.map((name) => [name, route.query.get(name) ?? ""]).filter(([, text]) => text));
  let problem = "";
  const table = new Table(place.querySelector(".rows"), {
    label: "Addresses of all switches",
    key: (entry) => `${entry.datapath_id}/${entry.vlan}/${entry.mac}`,
    columns: entryColumns({ bridges: true }),
    more: () => entries.more().catch(failed),
    empty: "No entry fits.",
  });
  const entries = new Entries(["fdb"], () => {
    table.set(entries.rows, { whole: entries.whole, total: entries.whole ? entries.rows.length : null });
    bar();
  }, signal);

  function failed(error) {
    if (signal.aborted) return;
    problem = error.message;
    bar();
  }

  async function look() {
    problem = "";
    await entries.restart(filter()).catch(failed);
  }

  function bar() {
    render(
      html`${filterForm(filter(), (values) => {
          amend(route, { mac: "", ip: "", vlan: "", port: "", type: "", ...values });
          for (const name of names) if (!values[name]) route.query.delete(name);
          look();
        }, ["learned", "static", "local"], nothing, true)}
        <p class=${problem ? "problem" : "quiet"} role="status">${problem || `${count(entries.rows.length)}${entries.whole ? "" : " and more"} shown; an address is known to each switch that it passes.`}</p>`,
      place.querySelector(".bar"),
    );
  }

  bar();
  await look();
}
