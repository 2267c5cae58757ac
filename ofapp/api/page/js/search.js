// Search for an address, a vendor, a port or a switch; shows the path to a host.

import { get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { topology } from "./network.js";
import { link } from "./router.js";
import { age, plural, vlanText } from "./words.js";
import { entriesOf, farthest, follow, homes } from "./way.js";

export const title = "Search";

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
  const found = await get(["search"], { q: text }, signal);
  render(results(text, found), place);
}

function results(text, { bridges, ports, neighbours, hosts, more }) {
  const nothingAtAll = !bridges.length && !ports.length && !neighbours.length && !hosts.length;
  return html`<h1>“${text}”</h1>
    ${more ? html`<p class="warn">There is more than this: be more precise.</p>` : nothing}
    ${nothingAtAll ? html`<p>Nothing is called so. Hosts are found by their MAC address, whole or in part, by the vendor of their card, or by the beginning of an IP address that they were heard with. Neighbours that speak LLDP are found by their name and the address at which they are managed.</p>` : nothing}
    <div class="columns">
      ${bridges.length ? html`<section class="card"><h2>Switches</h2><ul class="list">${bridges.map((own) => html`<li><a href=${link(["bridge", own.datapath_id])}>${own.bridge}</a> <code class="quiet">${own.datapath_id}</code></li>`)}</ul></section>` : nothing}
      ${ports.length ? html`<section class="card"><h2>Ports</h2><ul class="list">${ports.map((own) => html`<li><a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a> <span class="quiet">of ${own.bridge}</span></li>`)}</ul></section>` : nothing}
      ${neighbours.length ? html`<section class="card"><h2>Neighbours</h2><ul class="list">${neighbours.map((own) => html`<li>${own.lldp?.system_name ?? ""} <code>${own.chassis_id}</code> ${own.lldp?.management_addresses.join(", ") ?? ""} <span class="quiet">behind</span> <a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a></li>`)}</ul></section>` : nothing}
      ${hosts.length ? html`<section class="card"><h2>Hosts</h2><ul class="list">${hosts.map((own) => html`<li><a href=${link(["search"], { q: own.mac })}><code>${own.mac}</code></a> ${vlanText(own.vlan)} ${own.addresses.join(", ")} <span class="quiet">${own.vendor ?? ""}</span></li>`)}</ul></section>` : nothing}
    </div>`;
}

async function showHost(place, text, route, signal) {
  const mac = text.split(/[:-]/).map((octet) => octet.padStart(2, "0").toLowerCase()).join(":");
  const prefix = mac.slice(0, 8);
  const [entries, map, answer] = await Promise.all([
    entriesOf(mac, signal),
    topology(signal),
    get(["vendors"], { prefix }, signal),
  ]);
  const vendor = answer.vendors[prefix];
  const places = homes(entries, map);
  const addresses = [...new Set(entries.flatMap((entry) => entry.addresses))];
  render(
    html`<h1><code>${mac}</code> ${vendor ? html`<small class="quiet">${vendor}</small>` : nothing}</h1>
      ${addresses.length ? html`<p>Last heard with ${addresses.map((one, index) => html`${index ? ", " : ""}<code>${one}</code>`)}, as it says itself.</p>` : nothing}
      ${entries.length ? nothing : html`<p>No switch knows this address now. It is learned with the first frame that it sends.</p>`}
      ${places.map((home) => host(mac, home, entries, map, route))}
      ${entries.length && !places.length ? html`<p class="warn">Each switch that knows it points to another one: it has just moved, or has gone.</p>` : nothing}
      ${entries.length ? html`<h2>${plural(entries.length, "switch knows it", "switches know it")}</h2>${table(entries)}` : nothing}`,
    place,
  );
}

function host(mac, home, entries, map, route) {
  const asked = route.query.get("from");
  const from = asked || farthest(entries, map, home.vlan) || home.datapath_id;
  const way = follow(entries, map, from, home.vlan);
  const names = new Map(map.bridges.map((own) => [own.datapath_id, own.name]));
  return html`<section class="card">
    <p>It is behind port <a href=${link(["bridge", home.datapath_id, "ports"], { port: home.port.number })}>${home.port.name}</a> of
      <a href=${link(["bridge", home.datapath_id])}>${home.bridge}</a>, ${vlanText(home.vlan)}, ${home.type}${home.updated === null ? "" : `, heard ${home.updated < 1 ? "just now" : `${age(home.updated)} ago`}`}.
      ${home.flags.includes("held") ? html`<b class="warn">It is held down there.</b>` : nothing}</p>
    <form class="filters" @change=${(event) => { location.hash = link(["search"], { q: mac, from: event.target.value }); }}>
      <label>The way from <select>${map.bridges.map((own) => html`<option value=${own.datapath_id} ?selected=${own.datapath_id === from}>${own.name}</option>`)}</select></label>
      <a class="button" href=${link(["map"], { way: mac, from })}>Show it on the map</a>
    </form>
    <ol class="way-hops" aria-label="The way">${way.hops.map(({ datapath_id, entry }) => html`<li><span class="hop"><a href=${link(["bridge", datapath_id])}>${names.get(datapath_id)}</a>
      ${entry ? html`by <code>${entry.port.name}</code>` : html`<b class="warn">does not know it: it floods</b>`}</span><span aria-hidden="true">→</span></li>`)}
      <li><span class="hop host"><code>${mac}</code></span></li></ol>
    ${way.complete ? nothing : html`<p class="warn">From there the way is not known to its end.</p>`}
  </section>`;
}

function table(entries) {
  return html`<div class="scroll" role="region" aria-label="Who knows it" tabindex="0"><table class="tall">
    <thead><tr>${["Switch", "VLAN", "By port", "Type", "Flags", "Heard", "Used"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${entries.map((own) => html`<tr><th scope="row"><a href=${link(["bridge", own.datapath_id])}>${own.bridge}</a></th><td>${vlanText(own.vlan)}</td>
      <td><a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.port.name}</a></td><td>${own.type}</td><td>${own.flags.join(", ")}</td><td>${age(own.updated)}</td><td>${age(own.used)}</td></tr>`)}</tbody></table></div>`;
}
