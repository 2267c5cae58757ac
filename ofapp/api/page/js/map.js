// The network as a map, and the same as lists beside it for users who cannot see the map.

import { forgetAbsent } from "./actions.js";
import { get } from "./api.js";
import { Canvas, elements } from "./canvas.js";
import { GROUP, groups, linkId, missingCables } from "./drawing.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { bridges, hostsOf, linkEnds, linksByPort, linkState, SHARED, topology } from "./network.js";
import { Loads } from "./loads.js";
import { calmly, every } from "./poll.js";
import { go, link } from "./router.js";
import { session } from "./session.js";
import { SHAPES, standing } from "./standing.js";
import { Timeline } from "./timeline.js";
import { aboutController, aboutSwitch, cutOf, onMap, questionOf } from "./whatif.js";
import { bits, count, facts, plural, roleBadge, stateBadge } from "./words.js";

export const title = "Map";

const SECONDS = 15; // between requests; an event causes one at once
const LOAD_SECONDS = 10;
const LOADS = 40; // links, up to which their load is shown by default: it costs a request to each switch
const LISTED = 24; // hosts of a switch in the list beside the map
const TELLING = /^(stp|port|bridge|lag|lacp|lldp|switch|topology|problem)\b/;

export async function show(place, route, signal) {
  render(frame(), place);
  const host = route.query.get("path");
  const state = { bridges: [], map: { bridges: [], links: [], neighbours: [] }, problems: [], chosen: null, hosts: null, loads: null, failed: "", controller: aboutController() };
  const shown = { outside: true, load: null, opened: new Set() }; // load: null until the number of links is known
  const loads = new Loads();
  const canvas = new Canvas(place.querySelector(".canvas"), {
    picked: choose,
    opened: (id) => id.startsWith(GROUP) || go(["bridge", id]),
    link: (id) => say(id === null ? nothing : aboutLink(id, state)),
  });
  const time = new Timeline(place.querySelector(".time"), { signal, changed: () => (paint(), draw()) });
  const paint = () => canvas.update(elements(time.seen(state), shown, canvas.room));
  const say = (what) => render(what, place.querySelector(".pointed"));
  signal.addEventListener("abort", () => canvas.close());
  const box = place.querySelector(".canvas-box");
  box.addEventListener("keydown", (event) => canvas.key(event));
  place.querySelector(".zoom-in").addEventListener("click", () => canvas.zoom(1.25));
  place.querySelector(".zoom-out").addEventListener("click", () => canvas.zoom(0.8));
  place.querySelector(".zoom-fit").addEventListener("click", () => (shown.opened.clear(), paint(), canvas.fit()));
  place.querySelector(".open-time").addEventListener("click", () => (time.taken ? time.close() : time.open(state.problems)));
  for (const name of ["outside", "load"]) {
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

  // A group opens; a switch is selected, or no longer.
  async function choose(id) {
    if (id.startsWith(GROUP)) {
      shown.opened.add(id);
      paint();
      return;
    }
    for (let group; (group = groups(state.map, shown, new Set()).get(id)); ) shown.opened.add(group);
    state.chosen = state.chosen === id ? null : id;
    state.hosts = null;
    state.asking = aboutSwitch(id, state.map.bridges.some((own) => own.datapath_id === id && own.bridge_id));
    paint();
    canvas.choose(state.chosen ?? "");
    draw();
    if (state.chosen) await findHosts(id);
  }

  async function findHosts(id) {
    const inner = linksByPort(state.map.links);
    const { entries, next } = await get(["bridges", id, "fdb"], { type: "learned", limit: 1000 }, signal);
    if (state.chosen !== id) return;
    state.hosts = { entries: entries.filter((entry) => !inner.has(`${id}/${entry.port.number}`)), more: next !== null };
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
    const now = time.seen(state);
    const blocked = now.map.links.filter((own) => linkState(own) === "discarding").length;
    const missing = missingCables(now.problems);
    box.setAttribute(
      "aria-label",
      `Map of ${plural(state.map.bridges.length, "switch", "switches")} and ${plural(state.map.links.length, "link")}, ${blocked} of them blocked, ${missing.length} missing. Arrow keys move it, plus and minus zoom, 0 shows all. The lists beside it say the same.`,
    );
    render(panel(now, { choose, blocked, missing, look }), place.querySelector(".panel"));
  }

  standing.watch(() => {
    state.problems = standing.problems ?? [];
    paint();
    draw();
  }, signal);

  let selected = route.query.get("select");
  let question = questionOf(route);
  const look = every(
    SECONDS,
    async () => {
      const [known, map] = await Promise.all([bridges(signal), topology(signal)]);
      Object.assign(state, { bridges: known, map, problems: standing.problems ?? [], failed: "" });
      if (signal.aborted) return;
      if (shown.load === null) tick("load", map.links.length <= LOADS);
      paint();
      draw();
      if (question) time.open(state.problems, question);
      question = null;
      if (host) await showPath();
      if (selected && map.bridges.some((own) => own.datapath_id === selected)) choose(selected);
      selected = null;
    },
    signal,
    (error) => {
      state.failed = error.message;
      draw();
    },
  );
  const soon = calmly(look, SHARED, signal);
  live.hear((event) => TELLING.test(event.kind) && soon(), signal);

  async function showPath() {
    const { findPath } = await import("./path.js");
    const found = await findPath(host, state.map, route.query.get("from"), signal);
    render(pathCaption(host, found, state), place.querySelector(".path-caption"));
    if (!found) return;
    const steps = found.hops
      .filter((hop) => hop.link)
      .map((hop) => ({ id: linkId(hop.link), forth: hop.link.a.datapath_id === hop.datapath_id }));
    canvas.path(found.hops.map((hop) => hop.datapath_id), steps);
  }
}

function frame() {
  return html`<h1 class="unseen">Map of the network</h1>
    <div class="map-grid">
      <section class="map-side">
        <div class="path-caption" role="status"></div>
        <div class="canvas-box" role="application" tabindex="0" aria-label="Map"><div class="canvas"></div></div>
        <div class="time"></div>
        <div class="map-tools">
          <button class="zoom-in" aria-label="Zoom in">+</button>
          <button class="zoom-out" aria-label="Zoom out">−</button>
          <button class="zoom-fit">All</button>
          <button class="open-time">Time</button>
          <span class="pointed" aria-live="polite"></span>
          <span class="push"></span>
          <label><input type="checkbox" class="load"> load as width</label>
          <label><input type="checkbox" class="outside" checked> foreign neighbours</label>
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
    <li>${mark("discarding")} blocked, ready to take over</li>
    <li>${mark("missing")} missing</li>
    <li>${mark("unknown")} without spanning tree</li>
    <li>${mark("disconnected")} to a disconnected switch, which has a dashed box</li>
    <li>${mark("lag")} aggregation</li>
    <li>● hosts</li>
  </ul>`;
}

// Path to a host: from, to, hops, and by which port of each.
function pathCaption(mac, found, { map }) {
  const names = namesOf(map);
  if (!found) return html`<p class="warn">No switch knows ${mac} now.</p>`;
  const { hops, complete } = found;
  return html`<p><b>Path</b> from ${names.get(hops[0].datapath_id)} to <a href=${link(["search"], { q: mac })}><code>${mac}</code></a>, ${plural(hops.length, "hop")}:
    ${hops.map(({ datapath_id: id, entry }) => html`<span class="end">${names.get(id)} ${entry ? html`<code>${entry.port.name}</code> → ` : html`<b class="warn">floods</b>`}</span>`)}${complete ? html`<code>${mac}</code>` : html`<b class="warn">its end is not known</b>`}
    <a href=${link(["map"])}>Hide</a></p>`;
}

function aboutLink(id, { map, loads, problems }) {
  const own = map.links.find((each) => linkId(each) === id);
  const names = namesOf(map);
  if (own) {
    const side = (end, stp) => `${names.get(end.datapath_id)} ${end.port.name}${stp ? ` (${stp.role}, ${stp.state})` : ""}`;
    return html`${side(own.a, own.stp?.a)} – ${side(own.b, own.stp?.b)} ${loadText(loads?.get(id))}`;
  }
  const cable = missingCables(problems).find(({ ends }) => id === ends.map((end) => end.join("/")).join("-"));
  return cable ? html`<b class="bad">${cable.message}</b>` : nothing;
}

function panel(state, { choose, blocked, missing, look }) {
  const { map, chosen } = state;
  if (!map.bridges.length) {
    return html`<section><h2>Switches</h2><p class=${state.failed ? "problem" : "quiet"}>${state.failed ||
    "No switch has connected yet. Point one here: ovs-vsctl set-controller BRIDGE tcp:ADDRESS:6653"}</p></section>`;
  }
  const about = new Map(state.bridges.map((bridge) => [bridge.datapath_id, bridge]));
  const ends = linkEnds(map);
  const down = map.links.filter((own) => own.down).length;
  const gone = map.bridges.filter((bridge) => !bridge.connected).length;
  const hosts = state.bridges.reduce((sum, bridge) => sum + hostsOf(bridge, ends), 0);
  return html`${state.failed ? html`<p class="problem" role="alert">${state.failed}</p>` : nothing}
    <p class="sum">${plural(map.bridges.length, "switch", "switches")}${gone ? html`, <b class="bad">${gone} disconnected</b> ${session.may("admin") && !state.atOther ? html`<button class="small" @click=${() => forgetAbsent(gone, look)}>Remove…</button>` : nothing}` : nothing},
      ${plural(map.links.length, "link")}${blocked ? `, ${blocked} blocked` : ""}${down ? html`, <b class="bad">${down} down</b>` : nothing}${missing.length ? html`, <b class="bad">${missing.length} missing</b>` : nothing},
      ${plural(hosts, "host")}</p>
    ${chosen ? details(state, about.get(chosen)) : nothing}
    <section><h2>Switches</h2>
      <ul class="list">${map.bridges.map((bridge) => switchRow(bridge, state, about.get(bridge.datapath_id), ends, choose))}</ul>
    </section>
    ${chosen ? nothing : html`<section><h2>Links</h2>
      ${missing.length ? html`<ul class="list">${missing.map(({ message }) => html`<li class="problem">✖ ${message}</li>`)}</ul>` : nothing}
      ${links(map.links, state)}
      ${state.controller}</section>`}`;
}

const namesOf = (map) => new Map(map.bridges.map((bridge) => [bridge.datapath_id, bridge.name]));
const openOf = (problems, id) => problems.filter((own) => own.datapath_id === id && own.acknowledged === null);

function switchRow(bridge, { problems, chosen }, about, ends, choose) {
  const id = bridge.datapath_id;
  const own = openOf(problems, id);
  const worst = own.some((each) => each.severity === "error") ? "error" : own.length ? "warning" : "";
  const dot = worst || (bridge.connected ? "forwarding" : "disabled");
  return html`<li><button class="plain row" aria-pressed=${id === chosen} @click=${() => choose(id)}>
      <span class="dot severity ${dot}" aria-hidden="true">${SHAPES[worst] ?? (bridge.connected ? "●" : "○")}</span>
      <span class="name">${bridge.name}</span>
      <span class="quiet">${bridge.root ? "root" : ""} ${bridge.connected ? "" : "disconnected"}
        <span class="unseen">${own.map((each) => each.message).join("; ")}</span></span>
      <span class="number">${about ? count(hostsOf(about, ends)) : "–"}<span class="unseen"> hosts</span></span>
    </button><a class="open" href=${link(["bridge", id])} aria-label="Open ${bridge.name}">open</a></li>`;
}

function details(state, about) {
  const { map, chosen: id, hosts, problems } = state;
  const mine = map.links.filter((own) => own.a.datapath_id === id || own.b.datapath_id === id);
  const tree = map.bridges.find((bridge) => bridge.datapath_id === id);
  if (!about) return nothing;
  return html`<section class="card" aria-live="polite"><h2>${about.name}</h2>
    ${openOf(problems, id).map((own) => html`<p class="severity ${own.severity}">${SHAPES[own.severity]} ${own.message}</p>`)}
    ${facts([
      ["datapath id", html`<code>${id}</code>`],
      ["peer", about.peer],
      ["bridge id", tree?.bridge_id],
      ["root", tree?.root ? "this switch" : tree?.root_id],
    ])}
    <p><a class="button" href=${link(["bridge", id])}>Open this switch</a></p>
    <h3>Hosts that are attached here</h3>${hosts ? hostList(hosts) : html`<p class="quiet">Loading…</p>`}
    <h3>Links</h3>${links(mine, state, id)}
    <h3>What if…</h3>${state.asking}
  </section>`;
}

function hostList({ entries, more }) {
  if (!entries.length) return html`<p class="quiet">No host has sent a frame.</p>`;
  return html`<ul class="list">${entries.slice(0, LISTED).map((own) => html`<li><a href=${link(["search"], { q: own.mac })}><code>${own.mac}</code></a> ${own.addresses.join(", ")} <span class="quiet">${own.port.name}</span></li>`)}</ul>
    ${entries.length > LISTED || more ? html`<p class="quiet">The first ${LISTED} of ${count(entries.length)}${more ? " and more" : ""}; <a href=${link(["hosts"])}>Hosts</a> has all.</p>` : nothing}`;
}

// id: the switch that is selected; each of its links has the question what follows if it is cut.
function links(all, state, id = null) {
  const names = namesOf(state.map);
  if (!all.length) return html`<p class="quiet">No link is known. Spanning tree or LLDP finds them.</p>`;
  return html`<ul class="list links">${all.map(
    (own) => html`<li>${end(own.a, own.stp?.a, names)}<span class="stroke ${linkState(own)}" aria-hidden="true"></span>${end(own.b, own.stp?.b, names)}
      ${own.down ? html`<b class="bad">down</b>` : nothing}
      ${own.lag ? html`<span class="quiet">⇉ ${[own.lag.a, own.lag.b].filter(Boolean).join(" – ")}</span>` : nothing}
      ${loadText(state.loads?.get(linkId(own)))}<span class="quiet source">${own.source}</span>
      ${id && own.a.connected && own.b.connected ? html`<a href=${onMap(cutOf(own, id))}>What if it is cut?</a>` : nothing}</li>`,
  )}</ul>`;
}

function end({ datapath_id, port, connected }, side, names) {
  return html`<span class="end"><a href=${link(["bridge", datapath_id, "ports"], { port: port.number })}>${names.get(datapath_id)} <code>${port.name}</code></a>
    ${side ? html`${roleBadge(side.role)} ${stateBadge(side.state)}` : connected ? nothing : stateBadge("disconnected")}</span>`;
}

function loadText(load) {
  return load ? html`<span class="quiet">${bits(load.forth)} there, ${bits(load.back)} back</span>` : nothing;
}
