// Limits of a switch, their use, and the frames that were dropped or held back.

import { get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { count, plural } from "./words.js";

export async function tab(place, context) {
  const { id, signal } = context;
  async function update(bridge = context.bridge) {
    const { ports } = await get(["bridges", id, "ports"], {}, signal);
    if (!signal.aborted) render(page(bridge, ports), place);
  }
  await update();
  return { update };
}

function page(bridge, ports) {
  const { limits, fdb } = bridge;
  const rows = [
    { what: "the bridge", used: fdb.learned, most: limits.fdb_max_learned, refused: fdb.refused, dropping: false },
    ...limits.vlans.map((vlan) => ({ what: `VLAN ${vlan.vlan}`, used: vlan.learned, most: vlan.limit, ...vlan })),
    ...ports.filter((port) => port.limit !== null).map((port) => ({ what: `port ${port.name}`, used: port.learned, most: port.limit, ...port })),
    ...ports.filter((port) => port.over_share).map((port) => ({ what: `port ${port.name}, its share`, used: port.learned, most: limits.fdb_max_learned, refused: port.over_share, dropping: false })),
  ];
  const held = ports.filter((port) => Object.values(port.held_back).some(Boolean));
  const drops = Object.entries(bridge.drops).filter(([, number]) => number);
  return html`<div class="columns">
    <section><h2>Learned addresses</h2><div class="scroll" role="region" aria-label="Learned addresses" tabindex="0"><table class="tall"><thead><tr><th scope="col">Of</th><th scope="col" class="number">Learned</th><th scope="col" class="number">At most</th><th scope="col">Used</th><th scope="col" class="number">Not learned for it</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr><th scope="row">${row.what}</th><td class="number">${count(row.used)}</td><td class="number">${count(row.most)}</td>
        <td><meter min="0" max=${row.most || 1} .value=${row.used} high=${0.9 * row.most} aria-label="${row.what}: ${row.used} of ${row.most}"></meter>
          ${row.dropping ? html`<b class="bad">full: frames of others are dropped</b>` : nothing}</td>
        <td class="number">${row.refused ? html`<b class="warn">${count(row.refused)}</b>` : "0"}</td></tr>`)}</tbody></table></div></section>
    <section><h2>Held back from the controller, or above a storm limit</h2>${held.length
      ? html`<table class="tall"><thead><tr><th scope="col">Port</th><th scope="col">Frames</th></tr></thead><tbody>${held.map((port) => html`<tr><th scope="row">${port.name}</th>
        <td>${Object.entries(port.held_back).filter(([, number]) => number).map(([kind, number]) => `${count(number)} ${kind.replaceAll("_", " ")}`).join(", ")}</td></tr>`)}</tbody></table>`
      : html`<p class="quiet">Nothing, as of the last sweep. Each port may show ${plural(limits.packet_in_rate, "unknown source")} a second at least.</p>`}</section>
    <section><h2>Dropped by the switch</h2>${drops.length
      ? html`<table class="tall"><thead><tr><th scope="col">By rule</th><th scope="col" class="number">Frames</th></tr></thead><tbody>${drops.map(([rule, number]) => html`<tr><th scope="row">${rule.replaceAll("_", " ")}</th><td class="number">${count(number)}</td></tr>`)}</tbody></table>`
      : html`<p class="quiet">Nothing, as of the last sweep.</p>`}</section>
  </div>`;
}
