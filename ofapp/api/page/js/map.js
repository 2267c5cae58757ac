// The network as a map, and the same as lists beside it for users who cannot see the map.

import { forgetAbsent } from "./actions.js";
import { get } from "./api.js";
import { apart, Canvas, elements, HOSTS_SHOWN, linkId } from "./canvas.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { bridges, linksByPort, linkState, problemsOf, topology } from "./network.js";
import { Loads } from "./loads.js";
import { calmly, every } from "./poll.js";
import { go, link } from "./router.js";
import { session } from "./session.js";
import { bits, count, facts, plural, roleBadge, stateBadge } from "./words.js";

export const title = "Map";

const SECONDS = 15; // between requests; an event causes one at once
const LOAD_SECONDS = 10;
const LOADS = 40; // links, up to which their load is shown by default: it costs a request to each switch
const TELLING = /^(stp|port|bridge|lag|lacp|lldp|switch|topology)\b/;

export async function show(place, route, signal) {
  render(frame(), place);
  const way = route.query.get("way");
  const state = { bridges: [], map: { bridges: [], links: [], neighbours: [] }, chosen: null, hosts: null, loads: null, failed: "" };
  const shown = { outside: true, away: false, load: null }; // load: null until the number of links is known
  const loads = new Loads();
  const canvas = new Canvas(place.querySelector(".canvas"), {
    picked: choose,
    opened: (id) => go(["bridge", id]),
    away: () => tick("away", true),
  });
  const paint = () => canvas.update(elements(state, shown, canvas.room));
  signal.addEventListener("abort", () => canvas.close());
  const box = place.querySelector(".canvas-box");
  box.addEventListener("keydown", (event) => canvas.key(event));
  place.querySelector(".zoom-in").addEventListener("click", () => canvas.zoom(1.25));
  place.querySelector(".zoom-out").addEventListener("click", () => canvas.zoom(0.8));
  place.querySelector(".zoom-fit").addEventListener("click", () => canvas.fit());
  for (const name of Object.keys(shown)) {
    place.querySelector(`.${name}`).addEventListener("change", (event) => tick(name, event.target.checked));
  }
  const again = calmly(() => {
    canvas.resize();
    paint();
  }, 300, signal);
  const resized = new ResizeObserver(again);
  resized.observe(place.querySelector(".canvas"));
  signal.addEventListener("abort", () => resized.disconnect());

  function tick(name, on) {
    shown[name] = on;
    place.querySelector(`.${name}`).checked = on;
    if (name === "load") weigh();
    else paint();
  }

  function choose(id) {
    state.chosen = state.chosen === id ? null : id;
    if (state.hosts?.id !== state.chosen) state.hosts = null;
    paint();
    canvas.choose(state.chosen ?? "");
    draw();
  }

  async function showHosts(id) {
    if (state.hosts?.id === id) state.hosts = null;
    else {
      const inner = linksByPort(state.map.links);
      const { entries, next } = await get(["bridges", id, "fdb"], { type: "learned", limit: 1000 }, signal);
      const own = entries.filter((entry) => !inner.has(`${id}/${entry.port.number}`));
      state.hosts = { id, entries: own, more: next !== null };
    }
    paint();
    draw();
  }

  async function weigh() {
    state.loads = shown.load ? await loads.of(state.map.links, signal) : null;
    if (signal.aborted) return;
    paint();
    draw();
  }
  every(LOAD_SECONDS, async () => shown.load && weigh(), signal);

  function draw() {
    const blocked = state.map.links.filter((own) => linkState(own) === "discarding").length;
    const away = state.map.bridges.filter((bridge) => !bridge.connected).length;
    box.setAttribute(
      "aria-label",
      `Map of ${plural(state.map.bridges.length, "switch", "switches")} and ${plural(state.map.links.length, "link")}, ${blocked} of them blocked. Arrow keys move it, plus and minus zoom, 0 shows all. The lists beside it say the same.`,
    );
    render(panel(state, { choose, blocked, away, showHosts, look }), place.querySelector(".panel"));
  }

  const look = every(
    SECONDS,
    async () => {
      const [known, map] = await Promise.all([bridges(signal), topology(signal)]);
      Object.assign(state, { bridges: known, map, failed: "" });
      if (signal.aborted) return;
      if (shown.load === null) tick("load", map.links.length <= LOADS);
      paint();
      draw();
      if (way) await showWay();
    },
    signal,
    (error) => {
      state.failed = error.message;
      draw();
    },
  );
  const soon = calmly(look, 500, signal);
  live.hear((event) => TELLING.test(event.kind) && soon(), signal);

  async function showWay() {
    const { findWay } = await import("./way.js");
    const found = await findWay(way, state.map, route.query.get("from"), signal);
    if (!found) return;
    const steps = found.hops
      .filter((hop) => hop.link)
      .map((hop) => ({ id: linkId(hop.link), forth: hop.link.a.datapath_id === hop.datapath_id }));
    canvas.way(found.hops.map((hop) => hop.datapath_id), steps);
  }
}

function frame() {
  return html`<h1 class="unseen">Map of the network</h1>
    <div class="map-grid">
      <section class="map-side">
        <div class="canvas-box" role="application" tabindex="0" aria-label="Map"><div class="canvas"></div></div>
        <div class="map-tools">
          <button class="zoom-in" aria-label="Zoom in">+</button>
          <button class="zoom-out" aria-label="Zoom out">−</button>
          <button class="zoom-fit">All</button>
          <span class="push"></span>
          <label><input type="checkbox" class="load"> load</label>
          <label><input type="checkbox" class="outside" checked> neighbours that are not ours</label>
          <label><input type="checkbox" class="away"> all that are away</label>
        </div>
        ${legend()}
      </section>
      <div class="panel"></div>
    </div>`;
}

function legend() {
  const mark = (name) => html`<span class="stroke ${name}" aria-hidden="true"></span>`;
  return html`<ul class="legend" aria-label="Legend">
    <li>${mark("forwarding")} forwards</li>
    <li>${mark("learning")} learns</li>
    <li>${mark("discarding")} blocked ✕, with a bar where</li>
    <li>${mark("unknown")} without spanning tree</li>
    <li>${mark("away")} to a switch that is away</li>
    <li><b class="warn">⚠</b> closed by a guard, or the switch has a trouble: its list says which</li>
    <li>${mark("lag")} ⇉ aggregation</li>
    <li><b>R</b> root port, <b>D</b> designated, <b>A</b> alternate, <b>B</b> backup</li>
  </ul>`;
}

function panel(state, { choose, blocked, away, showHosts, look }) {
  const { map, chosen } = state;
  if (!map.bridges.length) {
    return html`<section><h2>Switches</h2><p class=${state.failed ? "problem" : "quiet"}>${state.failed ||
    "No switch has connected yet. Point one here: ovs-vsctl set-controller BRIDGE tcp:ADDRESS:6653"}</p></section>`;
  }
  const about = new Map(state.bridges.map((bridge) => [bridge.datapath_id, bridge]));
  return html`${state.failed ? html`<p class="problem" role="alert">${state.failed}</p>` : nothing}
    <p class="sum">${plural(map.bridges.length, "switch", "switches")}${away ? html`, <b class="bad">${away} away</b> ${session.may("admin") ? html`<button class="small" @click=${() => forgetAbsent(away, look)}>Forget…</button>` : nothing}` : nothing},
      ${plural(map.links.length, "link")}${blocked ? `, ${blocked} blocked` : ""},
      ${plural(state.bridges.reduce((sum, bridge) => sum + bridge.fdb.learned, 0), "learned address", "learned addresses")}</p>
    ${chosen ? details(state, about.get(chosen), () => showHosts(chosen)) : nothing}
    <section><h2>Switches</h2>
      <ul class="list">${together(map).map((bridge) => switchRow(bridge, about.get(bridge.datapath_id), chosen, choose))}</ul>
    </section>
    ${chosen ? nothing : html`<section><h2>Links</h2>${links(map.links, state)}</section>`}`;
}

// Absent switches are last.
function together(map) {
  const last = apart(map);
  return [...map.bridges].sort((a, b) => last.has(a.datapath_id) - last.has(b.datapath_id));
}

const namesOf = (map) => new Map(map.bridges.map((bridge) => [bridge.datapath_id, bridge.name]));

function switchRow(bridge, about, chosen, choose) {
  const trouble = about ? problemsOf(about) : [];
  const id = bridge.datapath_id;
  return html`<li><button class="plain row" aria-pressed=${id === chosen} @click=${() => choose(id)}>
      <span class="dot ${bridge.connected ? (trouble.length ? "warn" : "forwarding") : "disabled"}" aria-hidden="true">${bridge.connected ? (trouble.length ? "⚠" : "●") : "○"}</span>
      <span class="name">${bridge.name}</span>
      <span class="quiet">${bridge.root ? "root" : ""} ${bridge.connected ? "" : "away"}
        <span class="unseen">${trouble.join("; ")}</span></span>
      <span class="number">${about ? count(about.fdb.learned) : "–"}<span class="unseen"> learned addresses</span></span>
    </button><a class="open" href=${link(["bridge", id])} aria-label="Open ${bridge.name}">open</a></li>`;
}

function details(state, about, showHosts) {
  const { map, chosen: id, hosts } = state;
  const mine = map.links.filter((own) => own.a.datapath_id === id || own.b.datapath_id === id);
  const tree = map.bridges.find((bridge) => bridge.datapath_id === id);
  if (!about) return nothing;
  return html`<section class="card" aria-live="polite"><h2>${about.name}</h2>
    ${problemsOf(about).map((what) => html`<p class="problem">⚠ ${what}</p>`)}
    ${facts([
      ["datapath id", html`<code>${id}</code>`],
      ["peer", about.peer],
      ["bridge id", tree?.bridge_id],
      ["root", tree?.root ? "this switch" : tree?.root_id],
      ["addresses", `${count(about.fdb.learned)} learned, ${count(about.fdb.static)} static`],
    ])}
    <p><a class="button" href=${link(["bridge", id])}>Open this switch</a>
      <button aria-pressed=${hosts?.id === id} @click=${showHosts}>Its hosts</button></p>
    ${hosts?.id === id ? html`<h3>Hosts that are attached here</h3>${hostList(hosts)}` : nothing}
    <h3>Links</h3>${links(mine, state)}
  </section>`;
}

function hostList({ entries, more }) {
  if (!entries.length) return html`<p class="quiet">None has been heard.</p>`;
  return html`<ul class="list">${entries.slice(0, HOSTS_SHOWN).map((own) => html`<li><a href=${link(["search"], { q: own.mac })}><code>${own.mac}</code></a> ${own.addresses.join(", ")} <span class="quiet">${own.port.name}</span></li>`)}</ul>
    ${entries.length > HOSTS_SHOWN || more ? html`<p class="quiet">The first ${HOSTS_SHOWN} of ${count(entries.length)}${more ? " and more" : ""}; <a href=${link(["hosts"])}>Hosts</a> has all.</p>` : nothing}`;
}

function links(all, state) {
  const names = namesOf(state.map);
  if (!all.length) return html`<p class="quiet">None is known. Spanning tree or LLDP has to be heard on a port first.</p>`;
  return html`<ul class="list links">${all.map(
    (own) => html`<li>${end(own.a, own.stp?.a, names)}<span class="stroke ${linkState(own)}" aria-hidden="true"></span>${end(own.b, own.stp?.b, names)}
      ${own.lag ? html`<span class="quiet">⇉ ${[own.lag.a, own.lag.b].filter(Boolean).join(" – ")}</span>` : nothing}
      ${loadText(state.loads?.get(linkId(own)))}<span class="quiet source">${own.source}</span></li>`,
  )}</ul>`;
}

function end({ datapath_id, port, connected }, side, names) {
  return html`<span class="end"><a href=${link(["bridge", datapath_id, "ports"], { port: port.number })}>${names.get(datapath_id)} <code>${port.name}</code></a>
    ${side ? html`${roleBadge(side.role)} ${stateBadge(side.state)}` : connected ? nothing : stateBadge("away")}</span>`;
}

function loadText(load) {
  return load ? html`<span class="quiet">${bits(load.forth)} there, ${bits(load.back)} back</span>` : nothing;
}
