// The page of a switch: a summary, and a tab for each resource.

import { get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { SHARED } from "./network.js";
import { calmly, every } from "./poll.js";
import { link } from "./router.js";
import { SHAPES, standing } from "./standing.js";
import { age, count, facts } from "./words.js";

export const title = "Switch";

const TABS = [
  ["ports", "Ports", () => import("./ports.js")],
  ["fdb", "FDB", () => import("./fdb.js")],
  ["bindings", "Bindings", () => import("./bindings.js")],
  ["access", "Access", () => import("./access.js")],
  ["stp", "Spanning tree", () => import("./stp.js")],
  ["vlans", "VLANs", () => import("./vlans.js")],
  ["mdb", "Multicast", () => import("./mdb.js")],
  ["acls", "Access lists", () => import("./acls.js")],
  ["lags", "Aggregations", () => import("./lags.js")],
  ["limits", "Limits", () => import("./limits.js")],
  ["events", "Events", () => import("./events.js")],
];

const SECONDS = 5;

// The argument of a tab: the current bridge, and a function to refresh it after a change.
export async function show(place, route, signal) {
  const [, id, name = "ports"] = route.path;
  const tab = TABS.find(([own]) => own === name) ?? TABS[0];
  const context = { id, bridge: await get(["bridges", id], {}, signal), route, signal, refresh: () => look() };
  document.title = `${context.bridge.name} · ${tab[1]} · ofapp`;
  const draw = (problem = "") => render(frame(context.bridge, tab[0], problem), place);
  draw();
  standing.watch(() => draw(), signal);
  const view = await tab[2]();
  if (signal.aborted) return;
  const inner = await view.tab(place.querySelector(".tab"), context);
  const look = every(
    SECONDS,
    async () => {
      context.bridge = await get(["bridges", id], {}, signal);
      draw();
      await inner?.update?.(context.bridge);
    },
    signal,
    (error) => error.status !== 401 && draw(error.message),
  );
  const soon = calmly(look, SHARED, signal);
  live.hear((event) => event.datapath_id === context.bridge.datapath_id && soon(), signal);
}

function frame(bridge, chosen, problem) {
  const id = bridge.datapath_id;
  return html`<div class="head">
      <h1>${bridge.name} <span class="badge ${bridge.connected ? "forwarding" : "disabled"}">${bridge.connected
        ? html`<span aria-hidden="true">●</span> connected`
        : html`<span aria-hidden="true">○</span> disconnected ${bridge.away === null ? "" : `for ${age(bridge.away)}`}`}</span></h1>
      ${facts([
        ["datapath id", html`<code>${id}</code>`],
        ["peer", bridge.peer],
        ["learned", `${count(bridge.fdb.learned)} of ${count(bridge.limits.fdb_max_learned)}`],
        ["static", count(bridge.fdb.static)],
        ["ageing", bridge.ageing_time ? `${bridge.ageing_time} s` : "never"],
        ["in sync", bridge.connected ? (bridge.in_line ? "yes" : "not yet") : null],
      ])}
      <ul class="problems" aria-live="polite">${problem ? html`<li class="problem">✖ ${problem}</li>` : nothing}${standing.open
        .filter((own) => own.datapath_id === id)
        .map((own) => html`<li class="severity ${own.severity}"><span aria-hidden="true">${SHAPES[own.severity]}</span> ${own.message}${own.remedy ? html` <code>${own.remedy}</code>` : nothing}</li>`)}</ul>
    </div>
    <nav class="tabs" aria-label="About ${bridge.name}">
      ${TABS.map(([name, title]) => html`<a href=${link(["bridge", id, name])} aria-current=${name === chosen ? "page" : nothing}>${title}</a>`)}
    </nav>
    <div class="tab"></div>`;
}
