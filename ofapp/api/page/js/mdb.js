// Multicast of a switch: queriers, router ports, and the groups of each port.

import { get } from "./api.js";
import { Entries } from "./entries.js";
import { html, render } from "./lit.js";
import { Table } from "./table.js";
import { age, count, facts, plural, vlanText } from "./words.js";

export async function tab(place, { id, signal }) {
  render(html`<div class="state"></div><h2>Groups</h2><div class="rows"></div>`, place);
  const table = new Table(place.querySelector(".rows"), {
    label: "Multicast entries",
    key: (entry) => `${entry.vlan}/${entry.group}/${entry.source}/${entry.port.name}/${entry.type}`,
    columns: [
      { name: "group", title: "Group", width: 24, kind: "code", cell: (entry) => entry.group },
      { name: "vlan", title: "VLAN", width: 11, cell: (entry) => vlanText(entry.vlan) },
      { name: "port", title: "Port", width: 16, cell: (entry) => entry.port.name },
      { name: "type", title: "Type", width: 12, cell: (entry) => entry.type },
      { name: "sources", title: "Sources", width: 30, cell: sources },
      { name: "timer", title: "Left", width: 9, kind: "number", cell: (entry) => age(entry.timer) },
      { name: "hosts", title: "Members", width: 24, kind: "code", cell: (entry) => entry.hosts.join(" ") },
    ],
    more: () => entries.more(),
    empty: "No host has joined a group.",
  });
  const entries = new Entries(["bridges", id, "mdb"], () => table.set(entries.rows, { whole: entries.whole, total: entries.whole ? entries.rows.length : null }), signal);
  async function update() {
    const status = await get(["bridges", id, "multicast"], {}, signal);
    if (signal.aborted) return;
    render(state(status), place.querySelector(".state"));
    if (table.box.scrollTop === 0) await entries.restart();
  }
  await update();
  return { update };
}

function sources(entry) {
  if (entry.source) return `only ${entry.source}`;
  const names = (blocked) => entry.sources.filter((own) => own.blocked === blocked).map((own) => own.address).join(" ");
  if (entry.filter_mode === "include") return `only ${names(false)}`;
  return names(true) ? `all but ${names(true)}` : "all";
}

function state(status) {
  if (!status.enabled) return html`<p class="quiet">Snooping is off: groups go to every port.</p>`;
  return html`${facts([
      ["entries", `${count(status.entries.used)} of ${count(status.entries.limit)}`],
      ["topology changes received", count(status.topology_changes.heard)],
      ["refused: too many VLANs", status.vlans_refused ? count(status.vlans_refused) : null],
    ])}
    <div class="columns">${status.vlans.map((vlan) => html`<section class="card"><h2>${vlanText(vlan.vlan)}</h2>${family("IPv4", vlan.ipv4)}${family("IPv6", vlan.ipv6)}</section>`)}</div>`;
}

function family(name, own) {
  const { querier } = own;
  const who = querier.state === "none" ? "none" : querier.state === "self" ? `this bridge (${querier.address})` : `${querier.address ?? "an unknown address"} on ${querier.port?.name ?? "?"}`;
  return html`<h3>${name}: ${own.forwarding === "flood" ? "floods" : "to members only"}</h3>
    <p>${own.reason}</p>
    ${facts([
      ["asks for members", `${who}${querier.state === "none" ? "" : `, version ${querier.version}`}`],
      ["groups", plural(own.groups, "group")],
      ["router ports", own.router_ports.length ? own.router_ports.map((router) => html`<span>${router.port.name} (${router.reasons.join(", ").replaceAll("_", " ")}) </span>`) : "none"],
    ])}`;
}
