// The drawing of the map, by Cytoscape.  Some text is untrusted; Cytoscape paints on a canvas, so no
// name is interpreted as markup.

import cytoscape from "../vendor/cytoscape/cytoscape.esm.min.mjs";
import { arranged } from "./layout.js";
import { linkState, problemsOf } from "./network.js";
import { bits, ROLE_LETTERS, unmirrored } from "./words.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const MARKS = { discarding: "✕", learning: "◐", forwarding: "" };

const FONT = 12;
const LABEL_FONT = 10;
const LINE = 1.25; // of the font's size
export const HOSTS_SHOWN = 24;
const AWAY = "away"; // the single box for all absent switches without a link to a present one

function style() {
  const text = colour("text");
  const line = (name, lineStyle, width = 2) => ({ "line-color": colour(name), "line-style": lineStyle, width });
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle", width: "data(width)", height: "data(height)", label: "data(label)",
        "background-color": colour("surface"), "border-width": 1.5, "border-color": colour("muted"),
        color: text, "font-size": FONT, "font-family": "system-ui, sans-serif", "text-valign": "center",
        "text-wrap": "wrap", "text-max-width": 1000, "line-height": LINE,
      },
    },
    { selector: "node.root", style: { "border-width": 3.5, "border-color": colour("accent") } },
    { selector: "node.trouble", style: { "border-color": colour("warn"), "border-width": 3 } },
    { selector: "node.away", style: { "border-style": "dashed", color: colour("muted"), "background-color": colour("back") } },
    { selector: "node.neighbour, node.host", style: { shape: "cut-rectangle", "font-size": LABEL_FONT, "border-style": "dotted", "background-color": colour("back"), color: colour("muted") } },
    { selector: "node.host", style: { shape: "ellipse", "border-style": "solid" } },
    // Labels of links have a separate place that the layout keeps free.
    { selector: "node.text", style: { "font-size": LABEL_FONT, "border-width": 0, "background-color": colour("back"), events: "no" } },
    {
      selector: "edge",
      style: {
        "curve-style": "segments", "segment-distances": "data(distances)", "segment-weights": "data(weights)",
        "edge-distances": "node-position", ...line("muted", "solid"), "arrow-scale": 1.3,
      },
    },
    { selector: "edge.straight", style: { "curve-style": "straight" } },
    { selector: "edge.forwarding", style: line("forwarding", "solid") },
    { selector: "edge.learning", style: line("learning", "dotted") },
    { selector: "edge.discarding", style: line("discarding", "dashed") },
    { selector: "edge.away", style: line("disabled", "dotted", 1.5) },
    { selector: "edge.lag", style: { width: 5 } },
    { selector: "edge[load]", style: { width: "data(load)" } },
    { selector: "edge.aBlocked", style: { "source-arrow-shape": "tee", "source-arrow-color": colour("discarding") } },
    { selector: "edge.bBlocked", style: { "target-arrow-shape": "tee", "target-arrow-color": colour("discarding") } },
    { selector: "edge.outside", style: line("muted", "dotted", 1.5) },
    { selector: "edge.way", style: { "line-color": colour("accent"), width: 6, "z-index": 9, "target-arrow-shape": "none" } },
    { selector: "edge.back", style: { "source-arrow-shape": "triangle", "source-arrow-color": colour("accent") } },
    { selector: "edge.forth", style: { "target-arrow-shape": "triangle", "target-arrow-color": colour("accent") } },
    { selector: "node.way", style: { "border-color": colour("accent"), "border-width": 4 } },
    { selector: "node:selected", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.18, "overlay-padding": 5 } },
  ];
}

const paper = document.createElement("canvas").getContext("2d");

// Size of a text of several lines.
function measured(text, font) {
  paper.font = `${font}px system-ui, sans-serif`;
  const lines = text.split("\n");
  return {
    width: Math.ceil(Math.max(...lines.map((own) => paper.measureText(own).width))),
    height: Math.ceil(lines.length * font * LINE),
  };
}

function box(label, font, extra) {
  const { width, height } = measured(label, font);
  return { label, width: Math.max(width + extra, 54), height: height + extra * 0.6 };
}

function end(port, side, guarded) {
  const mark = guarded ? " ⚠" : "";
  const name = unmirrored(port.name);
  if (!side) return name + mark;
  return `${name} ${ROLE_LETTERS[side.role] ?? ""}${MARKS[side.state] ?? ""}`.trim() + mark;
}

export function linkId(link) {
  return `${link.a.datapath_id}/${link.a.port.number}-${link.b.datapath_id}/${link.b.port.number}`;
}

// Absent switches without a link to a present one, which are drawn together.
export function apart(map) {
  const present = new Set(map.bridges.filter((own) => own.connected).map((own) => own.datapath_id));
  const beside = new Set(map.links.flatMap(({ a, b }) => [present.has(a.datapath_id) && b.datapath_id, present.has(b.datapath_id) && a.datapath_id]));
  return new Set(map.bridges.map((own) => own.datapath_id).filter((id) => !present.has(id) && !beside.has(id)));
}

// Contents of the map: {nodes: Map id -> {label, width, height, classes}, edges: [{id, a, b, classes, upper, lower}]}
// known: {bridges: of /v1/bridges, map: of /v1/topology, hosts: {id, entries} or null, loads: Map or null}
// shown: {outside, away}
function contents({ bridges, map, hosts, loads }, { outside, away }) {
  const about = new Map(bridges.map((bridge) => [bridge.datapath_id, bridge]));
  const guarded = new Set(bridges.flatMap((bridge) => bridge.guarded.map(({ port }) => `${bridge.datapath_id}/${port.number}`)));
  const held = ({ datapath_id: id, port }) => guarded.has(`${id}/${port.number}`);
  const hidden = away ? new Set() : apart(map);
  const nodes = new Map();
  const edges = [];
  for (const { datapath_id: id, name, connected, root } of map.bridges) {
    if (hidden.has(id)) continue;
    const own = about.get(id);
    const trouble = connected && own && problemsOf(own).length > 0;
    const second = [root && "root", !connected && "away", trouble && "⚠"].filter(Boolean).join(" · ");
    const classes = [root && "root", !connected && "away", trouble && "trouble"].filter(Boolean).join(" ");
    const label = unmirrored(name) + (second ? `\n${second}` : "");
    nodes.set(id, { ...box(label, FONT, 22), root: Boolean(root), classes });
  }
  if (hidden.size) {
    nodes.set(AWAY, { ...box(`${hidden.size} more\naway`, FONT, 22), root: false, classes: "away" });
  }
  for (const link of map.links) {
    const { a, b, stp, lag } = link;
    if (!nodes.has(a.datapath_id) || !nodes.has(b.datapath_id)) continue;
    const lagName = [lag?.a, lag?.b].filter(Boolean).join(" – ");
    const id = linkId(link);
    const classes = [linkState(link), lagName && "lag", stp?.a?.state === "discarding" && "aBlocked", stp?.b?.state === "discarding" && "bBlocked"];
    edges.push({
      id, a: a.datapath_id, b: b.datapath_id, classes: classes.filter(Boolean).join(" "), load: loads?.get(id) ?? null,
      ends: [end(a.port, stp?.a, held(a)), end(b.port, stp?.b, held(b))], more: lagName ? `⇉ ${unmirrored(lagName)}` : "",
    });
  }
  for (const own of outside ? map.neighbours : []) {
    if (!nodes.has(own.datapath_id)) continue;
    const id = `n:${own.chassis_id}`;
    const label = unmirrored(own.lldp?.system_name || own.chassis_id);
    if (!nodes.has(id)) nodes.set(id, { ...box(label, LABEL_FONT, 20), root: false, classes: "neighbour" });
    edges.push({ id: `${id}@${own.datapath_id}/${own.port.number}/${own.port_id ?? ""}`, a: own.datapath_id, b: id, classes: "outside", load: null, ends: [end(own.port, null, held(own)), unmirrored(own.port_id ?? "")], more: "" });
  }
  for (const entry of hosts && nodes.has(hosts.id) ? hosts.entries.slice(0, HOSTS_SHOWN) : []) {
    const id = `h:${entry.vlan}/${entry.mac}`;
    nodes.set(id, { ...box(entry.addresses[0] ?? entry.mac, LABEL_FONT, 24), root: false, classes: "host" });
    edges.push({ id: `${id}@`, a: hosts.id, b: id, classes: "outside", load: null, ends: [unmirrored(entry.port.name), ""], more: "" });
  }
  return { nodes, edges };
}

// Labels of a link: port of the upper end, port of the lower end, and the rest.
function caption(edge, from) {
  const ends = from === edge.a ? edge.ends : [...edge.ends].reverse();
  const load = edge.load && `${bits(from === edge.a ? edge.load.forth : edge.load.back)} ↓ ↑ ${bits(from === edge.a ? edge.load.back : edge.load.forth)}`;
  return [ends[0], edge.more, load, ends[1]].filter(Boolean).join("\n");
}

let last = { key: "", found: null }; // the layout is slow, so it is reused for the same shape

function places({ nodes, edges }, room) {
  const sized = edges.map((edge) => {
    const { width, height } = measured(caption({ ...edge, load: edge.load && { forth: 111e6, back: 111e6 } }, edge.a), LABEL_FONT);
    return { id: edge.id, a: edge.a, b: edge.b, width: width + 4, height: height + 4 };
  });
  const key = JSON.stringify([[...nodes].map(([id, own]) => [id, own.width, own.height, own.root]), sized, room]);
  if (key !== last.key) last = { key, found: arranged(nodes, sized, room) };
  return last.found;
}

// Bends of a link in Cytoscape's terms: distance along the straight line, and distance from it.
function bends(points, one, other) {
  const [dx, dy] = [other.x - one.x, other.y - one.y];
  const length = Math.hypot(dx, dy) || 1;
  const inner = points.slice(1, -1);
  return {
    weights: inner.map((own) => ((own.x - one.x) * dx + (own.y - one.y) * dy) / length ** 2),
    distances: inner.map((own) => ((own.y - one.y) * dx - (own.x - one.x) * dy) / length),
  };
}

const width = (load) => Math.min(9, Math.max(2, Math.log10(1 + Math.max(load.forth, load.back) * 8) - 1));

// All elements for Cytoscape; room: {width, height} of the canvas.
export function elements(known, shown, room) {
  const { nodes, edges } = contents(known, shown);
  const found = [];
  if (!nodes.size) return found;
  const at = places({ nodes, edges }, room);
  for (const [id, { classes, root: _root, ...data }] of nodes) found.push({ data: { id, ...data }, position: at.nodes.get(id), classes });
  for (const edge of edges) {
    const place = at.edges.get(edge.id);
    if (!place) continue;
    const points = place.from === edge.a ? place.points : [...place.points].reverse();
    const data = { id: edge.id, source: edge.a, target: edge.b, ...bends(points, at.nodes.get(edge.a), at.nodes.get(edge.b)) };
    if (edge.load) data.load = width(edge.load);
    found.push({ data, classes: edge.classes + (data.weights.length ? "" : " straight") });
    const label = caption(edge, place.from);
    if (label) found.push({ data: { id: `t:${edge.id}`, label, ...measured(label, LABEL_FONT) }, position: { x: place.x, y: place.y }, classes: "text" });
  }
  return found;
}

export class Canvas {
  // picked(datapath id): a switch was chosen; opened(datapath id): twice; away(): the box of those away.
  constructor(place, { picked, opened, away }) {
    this.place = place;
    this.cy = cytoscape({
      container: place, style: style(), minZoom: 0.02, maxZoom: 2.5, boxSelectionEnabled: false,
      autounselectify: false, autoungrabify: true, layout: { name: "preset" },
    });
    const of = (act) => (event) => {
      const id = event.target.id();
      if (id === AWAY) away();
      else if (!/^[nht]:/.test(id)) act(id);
    };
    this.cy.on("tap", "node", of(picked));
    this.cy.on("dbltap", "node", of(opened));
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.cy.style(style());
    this.theme.addEventListener("change", this.repaint);
    this.shape = "";
  }

  get room() {
    return { width: this.place.clientWidth || 800, height: this.place.clientHeight || 500 };
  }

  // Update only differences: position and zoom stay unless a node or link is added or removed.
  update(wanted) {
    const { cy } = this;
    const ids = new Set(wanted.map((one) => one.data.id));
    cy.batch(() => {
      cy.elements().filter((one) => !ids.has(one.id())).remove();
      for (const one of wanted) {
        const own = cy.getElementById(one.data.id);
        if (own.empty()) {
          cy.add({ group: one.data.source ? "edges" : "nodes", ...one });
          continue;
        }
        own.data(one.data);
        const kept = ["way", "back", "forth"].filter((name) => own.hasClass(name)).join(" ");
        own.classes(`${one.classes} ${kept}`);
        if (own.isNode()) own.position(one.position);
      }
    });
    const shape = wanted.filter((one) => one.position && one.classes !== "text").map(({ data, position: { x, y } }) => [data.id, x, y]).join();
    if (shape !== this.shape && wanted.length) this.fit();
    this.shape = shape;
  }

  fit() {
    this.cy.fit(undefined, 16);
    if (this.cy.zoom() > 1.25) {
      this.cy.zoom(1.25);
      this.cy.center();
    }
  }

  choose(id) {
    this.cy.elements().unselect();
    const own = this.cy.getElementById(id);
    own.select();
    const box = own.renderedBoundingBox?.();
    if (own.nonempty() && (box.x1 < 0 || box.y1 < 0 || box.x2 > this.cy.width() || box.y2 > this.cy.height())) {
      this.cy.animate({ center: { eles: own } }, { duration: 200 });
    }
  }

  // steps: [{id of a link, forth: from a to b}], bridges: datapath ids
  way(bridges, steps) {
    this.cy.batch(() => {
      this.cy.elements().removeClass("way back forth");
      for (const id of bridges) this.cy.getElementById(id).addClass("way");
      for (const { id, forth } of steps) this.cy.getElementById(id).addClass(forth ? "way forth" : "way back");
    });
  }

  key(event) {
    const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    const zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    if (pan) this.cy.panBy({ x: pan[0], y: pan[1] });
    else if (zoom) this.zoom(zoom);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  // The size of the canvas has changed.
  resize() {
    this.cy.resize();
    this.shape = "";
  }

  zoom(factor) {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  close() {
    this.theme.removeEventListener("change", this.repaint);
    this.cy.destroy();
  }
}
