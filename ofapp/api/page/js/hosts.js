// Each host once, at the port where it is attached: names, vendor, addresses, first and last seen.

import { get, put, remove } from "./api.js";
import { confirm } from "./confirm.js";
import { Entries, entryColumns } from "./entries.js";
import { html, nothing, render } from "./lit.js";
import { amend, link } from "./router.js";
import { session } from "./session.js";
import { Table } from "./table.js";
import { age, clock, plural, vlanText } from "./words.js";

export const title = "Hosts";

const KEPT = ["bridge", "port", "addresses"]; // columns as in the list of addresses
const FILTERS = [["q", "Name, address or vendor", 22], ["vlan", "VLAN", 5], ["port", "Port", 10]];

export async function show(place, route, signal) {
  render(html`<h1>Hosts</h1><div class="bar"></div><div class="rows"></div>`, place);
  const filter = () => Object.fromEntries(FILTERS.map(([name]) => [name, route.query.get(name) ?? ""]).filter(([, text]) => text));
  const present = () => route.query.get("left") !== "yes";
  let problem = "";
  const columns = entryColumns({ bridges: true });
  const placed = (own) => (own.port === null ? "" : columns.find(({ name }) => name === "port").cell(own));
  const table = new Table(place.querySelector(".rows"), {
    label: "Hosts",
    key: (host) => host.mac,
    columns: [
      { name: "who", title: "Name or vendor", width: 22, line: 1, cell: (host) => who(host, label) },
      columns[0],
      ...columns.filter(({ name }) => KEPT.includes(name)).map((own) => (own.name === "port" ? { ...own, cell: placed } : own)),
      { name: "vlan", title: "VLAN", width: 12, line: 2, cell: (host) => host.vlans.map(vlanText).join(", ") },
      { name: "last", title: "Last seen", width: 12, kind: "number", cell: lastSeen },
      { name: "first", title: "First seen", width: 12, kind: "number", cell: (host) => (host.first_seen ? clock(host.first_seen) : "") },
      { name: "path", title: "Path", width: 16, cell: paths },
    ],
    more: () => hosts.more().catch(failed),
    empty: "No host fits.",
  });
  const hosts = new Entries(["hosts"], () => {
    table.set(hosts.rows, { whole: hosts.whole, total: hosts.whole ? hosts.rows.length : null });
    bar();
  }, signal, "hosts");

  async function label(host) {
    if (await askLabel(host)) await look();
  }

  function failed(error) {
    if (signal.aborted) return;
    problem = error.message;
    bar();
  }

  async function look() {
    problem = "";
    await hosts.restart({ ...filter(), ...(present() ? { present: "true" } : {}) }).catch(failed);
  }

  function submit(event) {
    event.preventDefault();
    const form = event.target.closest("form");
    const given = new FormData(form);
    amend(route, { ...Object.fromEntries(FILTERS.map(([name]) => [name, given.get(name).trim()])), left: given.get("left") ?? "" });
    look();
  }

  function bar() {
    const values = filter();
    render(
      html`<form class="filters" @submit=${submit}>
          ${FILTERS.map(([name, text, size]) => html`<label>${text} <input name=${name} .value=${values[name] ?? ""} size=${size} spellcheck="false" autocomplete="off"></label>`)}
          <label><input type="checkbox" name="left" value="yes" .checked=${!present()} @change=${submit}> also hosts that have left</label>
          <button>Filter</button></form>
        <p class=${problem ? "problem" : "quiet"} role="status">${problem || (!hosts.rows.length && !hosts.whole ? "Loading…" : `${plural(hosts.rows.length, "host")}${hosts.whole ? "" : " and more"} shown, each at the port that it is attached to.`)}</p>`,
      place.querySelector(".bar"),
    );
  }

  bar();
  await look();
}

// The first name with its source; the vendor where the host has no name.
export function named({ names, vendor }) {
  const [name] = names;
  if (!name) return html`<span class="quiet">${vendor ?? ""}</span>`;
  return html`${name.name}${name.source === "label" ? nothing : html` <span class="quiet" title="given by the host itself, not verified">${name.source.toUpperCase()}</span>`}`;
}

function who(host, label) {
  return html`${named(host)}${session.may("operator") ? html` <button class="small" aria-label="Label ${host.mac}" @click=${() => label(host)}>Label…</button>` : nothing}`;
}

// Ask for the label of a host; whether it was changed.
export function askLabel({ mac, names }) {
  const known = names.find(({ source }) => source === "label")?.name ?? "";
  const path = ["hosts", mac, "label"];
  return confirm({
    title: `Label of ${mac}`,
    says: ["The label is shown before the names that the host gives itself. An empty label removes it."],
    verb: "Save",
    fields: html`<label>Label <input name="label" .value=${known} maxlength="64" autocomplete="off"></label>`,
    act: async (given) => {
      const text = given.get("label").trim();
      if (text) await put(path, { label: text });
      else if (known) await remove(path);
      return text ? `${mac} is “${text}”.` : `${mac} has no label.`;
    },
  });
}

export function lastSeen(host) {
  if (host.updated !== null) return age(host.updated);
  return host.last_seen ? `left, ${clock(host.last_seen)}` : "";
}

// One host; null where nothing is known of it.
export async function hostOf(mac, signal) {
  const page = await get(["hosts"], { q: mac, limit: 1 }, signal);
  return page.hosts[0] ?? null;
}

const paths = ({ mac }) => html`<a href=${link(["search"], { q: mac })}>show</a>, <a href=${link(["map"], { path: mac })}>on the map</a>`;
