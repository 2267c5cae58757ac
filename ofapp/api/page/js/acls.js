// The access lists of a switch, with the counters of each rule.

import { get } from "./api.js";
import { html, nothing } from "./lit.js";
import { polled } from "./tab.js";
import { clock, count, scaled } from "./words.js";

const SECONDS = 3;

export function tab(place, context) {
  const { id, signal } = context;
  let before = new Map();
  polled(place, context, SECONDS, async () => {
    const answer = await get(["bridges", id, "acls"], {}, signal);
    const at = performance.now() / 1000;
    const now = new Map();
    const rate = (list, rule) => {
      const key = JSON.stringify([list.name, rule.name]);
      now.set(key, { at, packets: rule.packets });
      const last = before.get(key);
      return last && rule.packets !== null && last.packets !== null && rule.packets >= last.packets ? (rule.packets - last.packets) / (at - last.at) : null;
    };
    const page = html`${answer.metered === false ? html`<p class="problem">⚠ The switch has no meters: rates are not limited.</p>` : nothing}
      ${answer.acls.length ? answer.acls.map((list) => acl(list, rate)) : html`<p class="quiet">This bridge has no access lists. They are written in the configuration file, under <code>acls</code>.</p>`}`;
    before = now;
    return page;
  });
}

function acl(list, rate) {
  return html`<section><h2>${list.name} <small class="quiet">${list.ports.length ? `on ${list.ports.map((port) => port.name).join(", ")}` : "on no port"}</small></h2>
    <div class="scroll" role="region" aria-label="Rules of ${list.name}" tabindex="0"><table class="tall">
      <thead><tr><th scope="col">Rule</th><th scope="col">Matches</th><th scope="col">Action</th><th scope="col" class="number">Hits</th><th scope="col" class="number">A second</th><th scope="col" class="number">Bytes</th><th scope="col" class="number">Above its rate</th><th scope="col">Since</th></tr></thead>
      <tbody>${list.rules.map((rule) => html`<tr><th scope="row">${rule.name}</th><td class="code">${rule.match || "everything"}</td>
        <td>${rule.action === "allow" ? html`<span class="badge forwarding"><span aria-hidden="true">✓</span> allow</span>` : html`<span class="badge discarding"><span aria-hidden="true">✕</span> drop</span>`}
          ${rule.rate === null ? nothing : `up to ${count(rule.rate)} a second`} ${rule.mirror ? `, copied to ${rule.mirror.name}` : nothing}</td>
        <td class="number">${count(rule.packets)}</td><td class="number">${scaled(rate(list, rule))}</td><td class="number">${scaled(rule.bytes, "B")}</td>
        <td class="number">${rule.over_rate ? html`<b class="warn">${count(rule.over_rate)}</b>` : count(rule.over_rate)}</td><td>${rule.since ? clock(rule.since) : ""}</td></tr>`)}</tbody>
    </table></div></section>`;
}
