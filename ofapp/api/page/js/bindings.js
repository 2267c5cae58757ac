// First-hop security of a switch: which host may use which address, what was refused, and which
// ports are trusted.

import { get } from "./api.js";
import { Entries } from "./entries.js";
import { html, nothing, render } from "./lit.js";
import { amend, link } from "./router.js";
import { Table } from "./table.js";
import { age, clock, count, plural, vlanText } from "./words.js";

const FILTERS = ["address", "mac", "port", "origin"];
const ORIGINS = ["dhcp", "dhcpv6", "nd", "file", "api"];

const CLAIMS = {
  source: "sends from",
  arp: "claims by ARP",
  nd: "claims by neighbour discovery",
  "dhcp-server": "answers as a DHCP server",
  router: "advertises itself as a router",
  redirect: "redirects to another router",
  "multicast-router": "acts as a multicast router or querier",
  fragment: "sends fragments that cannot be checked",
  dhcp: "sends DHCP messages that are not allowed",
  ethertype: "sends frames of another EtherType:",
  nested: "sends nested tags that cannot be checked",
};

const FORGED = new Set(["source", "arp", "nd"]);

export async function tab(place, context) {
  const { id, signal, route } = context;
  render(html`<div class="refused"></div><div class="trusted"></div><h2>Bindings</h2><div class="bar"></div><div class="rows"></div>`, place);
  const filter = () => Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? ""]).filter(([, text]) => text));
  const portLink = (name) => html`<a href=${link(["bridge", id, "ports"], { port: name })}>${name}</a>`;
  let problem = "";

  const table = new Table(place.querySelector(".rows"), {
    label: "Bindings",
    key: (entry) => `${entry.vlan}/${entry.address}/${entry.mac}`,
    columns: [
      { name: "address", title: "Address", width: 30, kind: "code", cell: (entry) => entry.address },
      { name: "mac", title: "MAC", width: 18, kind: "code", cell: (entry) => html`<a href=${link(["search"], { q: entry.mac })}>${entry.mac}</a>` },
      { name: "vlan", title: "VLAN", width: 12, cell: (entry) => vlanText(entry.vlan) },
      { name: "port", title: "Port", width: 16, cell: (entry) => portLink(entry.port.name) },
      { name: "origin", title: "From", width: 10, cell: (entry) => entry.origin },
      { name: "left", title: "Left", width: 9, kind: "number", cell: (entry) => (entry.seconds_left === null ? "for good" : age(entry.seconds_left)) },
    ],
    more: () => entries.more().catch(failed),
    empty: "No binding fits.",
  });
  const entries = new Entries(["bridges", id, "bindings"], () => {
    table.set(entries.rows, { whole: entries.whole, total: entries.whole ? entries.rows.length : null });
    bar();
  }, signal);

  function failed(error) {
    if (signal.aborted) return;
    problem = error.message;
    bar();
  }

  function bar() {
    const shown = `${plural(entries.rows.length, "binding")}${entries.whole ? "" : " and more"} shown.`;
    const loading = !entries.rows.length && !entries.whole;
    render(form(filter(), search, problem || (loading ? "Loading…" : shown), problem), place.querySelector(".bar"));
  }

  function search(values) {
    amend(route, Object.fromEntries(FILTERS.map((name) => [name, values[name] ?? ""])));
    for (const name of FILTERS) if (!values[name]) route.query.delete(name);
    look();
  }

  async function look() {
    problem = "";
    await entries.restart(filter()).catch(failed);
  }

  async function update() {
    const [{ refused }, { ports }] = await Promise.all([
      get(["bridges", id, "bindings", "refused"], {}, signal),
      get(["bridges", id, "ports"], {}, signal),
    ]);
    if (signal.aborted) return;
    render(refusals(refused, portLink), place.querySelector(".refused"));
    render(trusted(ports, portLink), place.querySelector(".trusted"));
  }

  table.set([], { whole: false, total: null });
  bar();
  await Promise.all([update(), look()]);
  return {
    async update() {
      await Promise.all([update(), table.box.scrollTop === 0 ? look() : null]);
    },
  };
}

function form(values, submit, text, problem) {
  const read = (event) => {
    event.preventDefault();
    const given = event.currentTarget.closest("form") ?? event.currentTarget;
    submit(Object.fromEntries([...new FormData(given)].map(([name, value]) => [name, value.trim()])));
  };
  return html`<form class="filters" @submit=${read}>
      <label>Address <input name="address" .value=${values.address ?? ""} size="20" spellcheck="false" autocomplete="off"></label>
      <label>MAC <input name="mac" .value=${values.mac ?? ""} size="17" spellcheck="false" autocomplete="off"></label>
      <label>Port <input name="port" .value=${values.port ?? ""} size="10" spellcheck="false" autocomplete="off"></label>
      <label>From <select name="origin" @change=${read}>${["", ...ORIGINS].map((name) => html`<option value=${name} ?selected=${(values.origin ?? "") === name}>${name || "any"}</option>`)}</select></label>
      <button>Filter</button>
    </form>
    <p class=${problem ? "problem" : "quiet"} role="status">${text}</p>`;
}

function refusals(refused, portLink) {
  if (!refused.length) return html`<p class="quiet">Nothing was refused lately.</p>`;
  return html`<section class="card warn"><h2>Refused</h2><ul class="list">${refused.map((own) => html`<li>${refusal(own, portLink)}</li>`)}</ul></section>`;
}

// What was claimed, and what contradicts it.
function refusal(own, portLink) {
  const binding = own.contradicts;
  return html`<code>${own.mac}</code> on ${portLink(own.port.name)} ${CLAIMS[own.claim] ?? own.claim}${own.address ?? own.ethertype ? html` <code>${own.address ?? own.ethertype}</code>` : nothing}${binding
    ? html`, which is bound to <code>${binding.mac}</code> on ${portLink(binding.port.name)} (${binding.origin})`
    : own.address && FORGED.has(own.claim) ? ", which has no binding there" : nothing}${own.why ? ` (${own.why})` : nothing};
    ${plural(own.samples, "sample")}, the last at ${clock(own.last)}${own.passed ? html` <b>and forwarded: the port only reports</b>` : nothing}`;
}

function trusted(ports, portLink) {
  const marked = ports.filter((port) => port.trust !== "none");
  if (!marked.length) return html`<p class="quiet">No port has a trust: hosts may claim any address. In the file: <code>ports: {"vnet*": {trust: guest}}</code></p>`;
  const kinds = new Map();
  for (const port of marked) kinds.set(port.trust, [...(kinds.get(port.trust) ?? []), port]);
  return html`<dl class="facts">${[...kinds].map(([trust, own]) => html`<div><dt>trust: ${trust}</dt>
    <dd>${own.slice(0, 12).map((port, index) => html`${index ? ", " : ""}${portLink(port.name)}`)}${own.length > 12 ? ` and ${count(own.length - 12)} more` : ""}</dd></div>`)}</dl>`;
}
