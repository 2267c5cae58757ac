// The aggregations of a switch, and why members carry no traffic.

import { get } from "./api.js";
import { html, nothing } from "./lit.js";
import { polled } from "./tab.js";
import { count, facts, linkBadge, speed } from "./words.js";

export function tab(place, context) {
  const { id, signal } = context;
  return polled(place, context, 5, async () => {
    const { lags } = await get(["bridges", id, "lags"], {}, signal);
    return lags.length ? lags.map(one) : html`<p class="quiet">This bridge has no aggregations. They are written in the configuration file, under <code>lags</code>.</p>`;
  });
}

function one(lag) {
  return html`<section class="card"><h2>⇉ ${lag.name} ${linkBadge(lag.up)}</h2>
    ${facts([
      ["LACP", lag.lacp],
      ["speed", speed(lag.speed_mbps)],
      ["members needed", count(lag.min_links)],
      ["chosen by", lag.hash],
      ["this side", lag.system ? html`<code>${lag.system}</code> key ${lag.key}` : null],
      ["partner", lag.partner ? html`<code>${lag.partner.system}</code> key ${lag.partner.key}` : lag.lacp === "off" ? null : "no LACP partner"],
    ])}
    <div class="scroll" role="region" aria-label="Members of ${lag.name}" tabindex="0"><table class="tall"><thead><tr>${["Member", "Link", "State", "Why it carries nothing", "Takes / gives", "Speed", "Partner's port", "Partner's state"].map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
    <tbody>${lag.members.map((member) => html`<tr><th scope="row">${member.name}</th><td>${linkBadge(member.link)}</td><td>${member.state === "away" ? "absent" : member.state}</td>
      <td class="why">${member.reason}${member.churn.length ? html` <b class="warn">${member.churn.join(", ")} does not settle</b>` : nothing}</td>
      <td>${member.collecting ? "takes" : "–"} / ${member.distributing ? "gives" : "–"}</td><td class="number">${speed(member.speed_mbps)}</td>
      <td class="number">${member.partner?.port ?? "–"}</td><td>${member.partner?.state.join(", ") ?? ""}</td></tr>`)}</tbody></table></div></section>`;
}
