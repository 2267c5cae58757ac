// The VLANs of a switch and of each port.

import { get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { link } from "./router.js";
import { count, vlanText } from "./words.js";

export async function tab(place, { id, signal }) {
  async function update() {
    const answer = await get(["bridges", id, "vlans"], {}, signal);
    if (!signal.aborted) render(page(answer, id), place);
  }
  await update();
  return { update };
}

function page({ vlans, ports }, id) {
  return html`<div class="columns"><section><h2>VLANs</h2>
    ${vlans.length ? html`<table class="tall"><thead><tr><th scope="col">VLAN</th><th scope="col">Name</th><th scope="col" class="number">Learned</th><th scope="col" class="number">Limit</th></tr></thead>
      <tbody>${vlans.map((own) => html`<tr><th scope="row"><a href=${link(["bridge", id, "fdb"], { vlan: own.vlan })}>${vlanText(own.vlan)}</a></th><td>${own.name ?? ""}</td>
        <td class="number">${count(own.learned)}</td><td class="number">${own.limit === null ? "" : count(own.limit)}</td></tr>`)}</tbody></table>`
      : html`<p class="quiet">No VLAN has a name or a limit, and nothing is learned in any.</p>`}</section>
  <section><h2>Ports</h2><div class="scroll" role="region" aria-label="VLANs of ports" tabindex="0"><table class="tall">
    <thead><tr><th scope="col">Port</th><th scope="col">Mode</th><th scope="col">VLANs</th><th scope="col">Untagged frames belong to</th><th scope="col">Leave untagged</th></tr></thead>
    <tbody>${ports.map((own) => html`<tr><th scope="row">${own.port.name}</th><td>${own.mode}${own.takes_part ? nothing : html` <b class="warn">takes no part</b>`}</td>
      <td>${own.vlans}</td><td>${own.pvid === null ? "nowhere: they are not let in" : own.mode === "transparent" ? "–" : vlanText(own.pvid)}</td><td>${own.untagged.join(", ")}</td></tr>`)}</tbody>
  </table></div></section></div>`;
}
