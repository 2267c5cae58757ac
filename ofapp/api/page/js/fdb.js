// The forwarding database of a switch and the addresses that are held down, with their actions.

import { get } from "./api.js";
import { addStatic, flush, release, removeStatic } from "./actions.js";
import { Entries, entryColumns, filterForm } from "./entries.js";
import { html, nothing, render } from "./lit.js";
import { notify } from "./notices.js";
import { amend } from "./router.js";
import { session } from "./session.js";
import { Table } from "./table.js";
import { age, count, vlanText } from "./words.js";

const TYPES = ["learned", "static", "local"];

export async function tab(place, context) {
  const { id, signal, route } = context;
  render(html`<div class="bar"></div><div class="held"></div><div class="rows"></div>`, place);
  const filter = () => Object.fromEntries(["mac", "vlan", "port", "type"].map((name) => [name, route.query.get(name) ?? ""]).filter(([, text]) => text));
  const may = session.may("operator");
  let held = [];
  let problem = "";

  const table = new Table(place.querySelector(".rows"), {
    label: "Forwarding database",
    key: (entry) => `${entry.vlan}/${entry.mac}`,
    columns: entryColumns({
      action: may ? (entry) => (entry.type === "static" ? html`<button class="small" @click=${() => removeStatic({ ...about(), entry })}>Remove…</button>` : nothing) : null,
    }),
    more: () => entries.more().catch(failed),
    empty: "No entry fits.",
  });
  const entries = new Entries(["bridges", id, "fdb"], shown, signal);

  function shown() {
    for (const entry of entries.rows) entry.datapath_id = id;
    const { learned, static: fixed, local } = context.bridge.fdb;
    const all = Object.keys(filter()).length ? null : learned + fixed + local;
    table.set(entries.rows, { whole: entries.whole, total: entries.whole ? entries.rows.length : all });
    bar();
  }

  function about() {
    return { id, bridge: context.bridge, after };
  }

  async function after() {
    await Promise.all([look(), context.refresh()]);
  }

  function failed(error) {
    if (signal.aborted) return;
    problem = error.message;
    bar();
  }

  async function look() {
    problem = "";
    try {
      const [, answer] = await Promise.all([entries.restart(filter()), get(["bridges", id, "fdb", "held"], {}, signal)]);
      held = answer.held;
    } catch (error) {
      failed(error);
    }
    heldRows();
  }

  async function add() {
    const { ports } = await get(["bridges", id, "ports"], {}, signal);
    addStatic({ ...about(), ports: ports.filter((port) => !port.lag) }).catch((error) => notify(error.message, "problem"));
  }

  function bar() {
    const given = filter();
    const { type: _type, ...flushed } = given;
    render(
      html`${filterForm(given, (values) => {
          amend(route, { mac: "", vlan: "", port: "", type: "", ...values });
          for (const name of ["mac", "vlan", "port", "type"]) if (!values[name]) route.query.delete(name);
          look();
        }, TYPES, may ? html`<span class="push"></span>
          <button type="button" @click=${add}>Add a static entry…</button>
          <button type="button" @click=${() => flush({ ...about(), filter: flushed })}>Flush${Object.keys(flushed).length ? " what fits" : " all"}…</button>` : nothing)}
        <p class=${problem ? "problem" : "quiet"} role="status">${problem || `${count(entries.rows.length)}${entries.whole ? "" : " and more"} shown. It is read when this is opened: `}
          ${problem ? nothing : html`<button class="link" @click=${look}>read again</button>`}</p>`,
      place.querySelector(".bar"),
    );
  }

  function heldRows() {
    render(
      held.length
        ? html`<section class="card warn"><h2>Held down</h2><ul class="list">${held.map(
            (own) => html`<li><code>${own.mac}</code> ${vlanText(own.vlan)}: on ${own.port.name}, seen on ${own.elsewhere.name} ${count(own.sightings)} times since;
              ${own.reason === "moves" ? "it moved too often" : "that port is sticky"}; for ${age(own.seconds_left)} more
              ${may ? html`<button class="small" @click=${() => release({ ...about(), held: own })}>Release…</button>` : nothing}</li>`,
          )}</ul></section>`
        : nothing,
      place.querySelector(".held"),
    );
  }

  bar();
  await look();
  return {
    async update() {
      const answer = await get(["bridges", id, "fdb", "held"], {}, signal);
      held = answer.held;
      heldRows();
    },
  };
}
