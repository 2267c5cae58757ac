// Search for an address, a vendor, a port or a switch; shows the path to a host.

import { get } from "./api.js";
import { askLabel, hostOf, lastSeen, named } from "./hosts.js";
import { html, nothing, render } from "./lit.js";
import { topology } from "./network.js";
import { link } from "./router.js";
import { aboutHost } from "./whatif.js";
import { session } from "./session.js";
import { age, clock, plural, vlanText } from "./words.js";
import { attachments, entriesOf, farthest, follow } from "./path.js";

export const title = "Search";

const MOST = 100; // hosts
const MAC = /^[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){5}$/i;

export async function show(place, route, signal) {
  const text = route.query.get("q") ?? "";
  render(html`<h1>“${text}”</h1><p class="quiet">Looking…</p>`, place);
  if (MAC.test(text)) {
    await showHost(place, text, route, signal);
    return;
  }
  if (text.length < 2) {
    render(html`<h1>Search</h1><p>Type two characters at least: a part of a MAC address, of a vendor's, a port's or a switch's name, or the beginning of an IP address.</p>`, place);
    return;
  }
  const [found, { hosts, next }] = await Promise.all([get(["search"], { q: text }, signal), get(["hosts"], { q: text, limit: MOST }, signal)]);
  if (!signal.aborted) render(results(text, { ...found, hosts, more: found.more || next !== null }), place);
}

function results(text, { bridges, ports, neighbours, hosts, more }) {
  const nothingAtAll = !bridges.length && !ports.length && !neighbours.length && !hosts.length;
  return html`<h1>“${text}”</h1>
    ${more ? html`<p class="warn">There is more than this: be more precise.</p>` : nothing}
    ${nothingAtAll ? html`<p>Nothing has this name or address. Hosts are found by their MAC address, whole or in part, by the vendor of their card, by the beginning of an IP address that they used, or by their name. Neighbours that speak LLDP are found by their name and the address at which they are managed.</p>` : nothing}
    <div class="columns">
      ${bridges.length ? html`<section class="card"><h2>Switches</h2><ul class="list">${bridges.map((own) => html`<li><a href=${link(["bridge", own.datapath_id])}>${own.bridge}</a> <code class="quiet">${own.datapath_id}</code></li>`)}</ul></section>` : nothing}
      ${ports.length ? html`<section class="card"><h2>Ports</h2><ul class="list">${ports.map((own) => html`<li><a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a> <span class="quiet">of ${own.bridge}</span></li>`)}</ul></section>` : nothing}
      ${neighbours.length ? html`<section class="card"><h2>Neighbours</h2><ul class="list">${neighbours.map((own) => html`<li>${own.lldp?.system_name ?? ""} <code>${own.chassis_id}</code> ${own.lldp?.management_addresses.join(", ") ?? ""} <span class="quiet">behind</span> <a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a></li>`)}</ul></section>` : nothing}
      ${hosts.length ? html`<section class="card"><h2>Hosts</h2><ul class="list">${hosts.map((own) => html`<li><a href=${link(["search"], { q: own.mac })}><code>${own.mac}</code></a> ${named(own)} ${own.vlans.map(vlanText).join(", ")} ${own.addresses.join(", ")} ${own.port ? html`<span class="quiet">${own.present ? "at" : "last at"}</span> <a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.bridge} ${own.port.name}</a>` : nothing}</li>`)}</ul></section>` : nothing}
    </div>`;
}

async function showHost(place, text, route, signal) {
  const mac = text.split(/[:-]/).map((octet) => octet.padStart(2, "0").toLowerCase()).join(":");
  const prefix = mac.slice(0, 8);
  const [entries, map, answer, known] = await Promise.all([
    entriesOf(mac, signal),
    topology(signal),
    get(["vendors"], { prefix }, signal),
    hostOf(mac, signal),
  ]);
  const vendor = answer.vendors[prefix];
  const places = attachments(entries, map);
  const addresses = [...new Set(entries.flatMap((entry) => entry.addresses))];
  const label = async () => {
    if (await askLabel(known ?? { mac, names: [] })) await showHost(place, text, route, signal);
  };
  render(
    html`<h1><code>${mac}</code> ${vendor ? html`<small class="quiet">${vendor}</small>` : nothing}</h1>
      ${known?.names.length ? html`<p>${known.names.map((_, index) => html`${index ? ", " : ""}${named({ names: [known.names[index]] })}`)}</p>` : nothing}
      ${known?.first_seen ? html`<p>First seen ${clock(known.first_seen)}; last seen ${lastSeen(known)}${known.present ? " ago" : ""}.</p>` : nothing}
      ${session.may("operator") ? html`<p><button @click=${label}>Label…</button></p>` : nothing}
      ${addresses.length ? html`<p>Last seen with ${addresses.map((one, index) => html`${index ? ", " : ""}<code>${one}</code>`)}, as it says itself.</p>` : nothing}
      ${entries.length ? nothing : html`<p>No switch knows this address now. It is learned with the first frame that it sends.</p>`}
      ${places.map((at) => host(mac, at, entries, map, route))}
      ${entries.length && !places.length ? html`<p class="warn">Each switch that knows it points to another one: it has just moved, or has gone.</p>` : nothing}
      ${entries.length ? html`<h2>${plural(entries.length, "switch knows it", "switches know it")}</h2>${table(entries)}` : nothing}`,
    place,
  );
}

function host(mac, at, entries, map, route) {
  const asked = route.query.get("from");
  const from = asked || farthest(entries, map, at.vlan) || at.datapath_id;
  const path = follow(entries, map, from, at.vlan);
  const names = new Map(map.bridges.map((own) => [own.datapath_id, own.name]));
  return html`<section class="card">
    <p>It is behind port <a href=${link(["bridge", at.datapath_id, "ports"], { port: at.port.number })}>${at.port.name}</a> of
      <a href=${link(["bridge", at.datapath_id])}>${at.bridge}</a>, ${vlanText(at.vlan)}, ${at.type}${at.updated === null ? "" : `, last seen ${at.updated < 1 ? "just now" : `${age(at.updated)} ago`}`}.
      ${at.flags.includes("held") ? html`<b class="warn">It is held down there.</b>` : nothing}</p>
    <form class="filters" @change=${(event) => { location.hash = link(["search"], { q: mac, from: event.target.value }); }}>
      <label>Path from <select>${map.bridges.map((own) => html`<option value=${own.datapath_id} ?selected=${own.datapath_id === from}>${own.name}</option>`)}</select></label>
      <a class="button" href=${link(["map"], { path: mac, from })}>Show it on the map</a>
    </form>
    <ol class="path-hops" aria-label="Path">${path.hops.map(({ datapath_id, entry }) => html`<li><span class="hop"><a href=${link(["bridge", datapath_id])}>${names.get(datapath_id)}</a>
      ${entry ? html`by <code>${entry.port.name}</code>` : html`<b class="warn">does not know it: it floods</b>`}</span><span aria-hidden="true">→</span></li>`)}
      <li><span class="hop host"><code>${mac}</code></span></li></ol>
    ${aboutHost(`${at.datapath_id}/${at.port.number}`, names)}
    ${path.complete ? nothing : html`<p class="warn">From there the path is not known to its end.</p>`}
  </section>`;
}

function table(entries) {
  return html`<div class="scroll" role="region" aria-label="Who knows it" tabindex="0"><table class="tall">
    <thead><tr>${["Switch", "VLAN", "By port", "Type", "Flags", "Last seen", "Used"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${entries.map((own) => html`<tr><th scope="row"><a href=${link(["bridge", own.datapath_id])}>${own.bridge}</a></th><td>${vlanText(own.vlan)}</td>
      <td><a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a></td><td>${own.type}</td><td>${own.flags.join(", ")}</td><td>${age(own.updated)}</td><td>${age(own.used)}</td></tr>`)}</tbody></table></div>`;
}
