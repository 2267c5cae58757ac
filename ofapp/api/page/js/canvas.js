// The drawing of the map, by Cytoscape.  Some text is untrusted; Cytoscape paints on a canvas, so no
// name is interpreted as markup.

import cytoscape from "../vendor/cytoscape/cytoscape.esm.min.mjs";
import { contents, MANY } from "./drawing.js";
import { arranged } from "./layout.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const FONT = 12;
const NARROW = 640; // pixels of a window whose map has no room for the word of each blocked link
const FEWER = [MANY, 20, 12, 6]; // boxes, about, of a network with many switches
const LARGEST = 1.1; // of a layout beside the canvas
const LINE = 1.35; // of the font's size
const FONTS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

function style() {
  const text = colour("text");
  const line = (name, lineStyle, width) => ({ "line-color": colour(name), "line-style": lineStyle, width });
  const label = { "font-size": FONT, "font-family": FONTS, color: text, "text-background-color": colour("back"), "text-background-opacity": 1, "text-background-padding": 2 };
  return [
    {
      selector: "node",
      style: {
        ...label, shape: "round-rectangle", width: "data(width)", height: "data(height)", label: "data(label)",
        "background-color": colour("surface"), "border-width": 1.5, "border-color": colour("muted"), "text-background-opacity": 0,
        "text-valign": "center", "text-wrap": "wrap", "text-max-width": 1000, "line-height": LINE,
      },
    },
    { selector: "node.root", style: { "border-width": 3, "border-color": colour("accent") } },
    { selector: "node.group", style: { "border-style": "double", "border-width": 4 } },
    { selector: "node.warning", style: { "border-color": colour("warning"), "border-width": 3 } },
    { selector: "node.error", style: { "border-color": colour("fault"), "border-width": 3 } },
    { selector: "node.disconnected", style: { "border-style": "dashed", color: colour("muted"), "background-color": colour("back") } },
    { selector: "node.neighbour", style: { shape: "cut-rectangle", "border-style": "dotted", "background-color": colour("back"), color: colour("muted") } },
    {
      selector: "edge",
      style: {
        ...label, "curve-style": "segments", "segment-distances": "data(distances)", "segment-weights": "data(weights)",
        "edge-distances": "node-position", "arrow-scale": 1.2, label: "data(word)", color: colour("muted"), ...line("muted", "solid", 2),
      },
    },
    { selector: "edge.straight", style: { "curve-style": "straight" } },
    { selector: "edge.forwarding", style: line("ok", "solid", 2.5) },
    { selector: "edge.learning", style: line("notice", "dotted", 2) },
    { selector: "edge.lag", style: { width: 5 } },
    { selector: "edge[load]", style: { width: "data(load)" } },
    { selector: "edge.discarding", style: { ...line("inactive", "dashed", 1.25), ...(innerWidth < NARROW ? { label: "" } : {}) } },
    { selector: "edge.disconnected", style: line("inactive", "dotted", 1.5) },
    { selector: "edge.outside", style: line("muted", "dotted", 1.5) },
    { selector: "edge.missing", style: { ...line("fault", "dashed", 4), color: colour("fault"), "font-weight": "bold" } },
    { selector: "edge.seen", style: { ...line("inactive", "dotted", 1.5), color: colour("muted"), "font-weight": "normal" } },
    { selector: ".changed", style: { "underlay-color": colour("accent"), "underlay-opacity": 0.3, "underlay-padding": 7 } },
    { selector: "edge.path", style: { ...line("accent", "solid", 6), "z-index": 9 } },
    { selector: "edge.back", style: { "source-arrow-shape": "triangle", "source-arrow-color": colour("accent") } },
    { selector: "edge.forth", style: { "target-arrow-shape": "triangle", "target-arrow-color": colour("accent") } },
    { selector: "edge.frame-back", style: { "source-arrow-shape": "triangle", "source-arrow-color": colour("notice"), "arrow-scale": 1.6, "z-index": 8 } },
    { selector: "edge.frame-forth", style: { "target-arrow-shape": "triangle", "target-arrow-color": colour("notice"), "arrow-scale": 1.6, "z-index": 8 } },
    { selector: "node.path", style: { "border-color": colour("accent"), "border-width": 4 } },
    // Names of ports only where a link is pointed at or selected.
    {
      selector: "edge.shown",
      style: { color: text, "z-index": 10, "source-label": "data(source_port)", "target-label": "data(target_port)", "source-text-offset": 34, "target-text-offset": 34 },
    },
    { selector: ":selected", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.18, "overlay-padding": 5 } },
  ];
}

const paper = document.createElement("canvas").getContext("2d");

// The size of a box around a text of several lines.
function box(label) {
  paper.font = `${FONT}px ${FONTS}`;
  const lines = label.split("\n");
  const width = Math.ceil(Math.max(...lines.map((own) => paper.measureText(own).width)));
  return { width: Math.max(width + 18, 54), height: Math.ceil(lines.length * FONT * LINE) + 12 };
}

const kept = new Map(); // the layout is slow, so it is reused for the same shape

function places(nodes, edges, room) {
  const ends = edges.map(({ id, a, b }) => ({ id, a, b }));
  const key = JSON.stringify([[...nodes].map(([id, own]) => [id, own.width, own.height, own.root]), ends, room]);
  if (!kept.has(key)) kept.set(key, arranged(nodes, ends, room));
  while (kept.size > FEWER.length) kept.delete(kept.keys().next().value);
  return kept.get(key);
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

// 1 Mbit/s is as wide as a link without load; each tenfold of it adds 2 pixels.
const width = (load) => Math.min(11, Math.max(2.5, 2 * Math.log10(1 + Math.max(load.forth, load.back) * 8) - 9.5));

// Boxes with their places, in so few groups that text has its full size.  Opened groups change no other one.
function placed(known, shown, room) {
  for (const most of shown.opened.size && shown.most ? [shown.most] : FEWER) {
    shown.most = most;
    const { nodes, edges } = contents(known, shown);
    if (!nodes.size) return { nodes, edges };
    for (const own of nodes.values()) Object.assign(own, box(own.tall ?? own.label));
    const at = places(nodes, edges, room);
    if (known.map.bridges.length < MANY || most === FEWER.at(-1) || at.scale < LARGEST || shown.opened.size) return { nodes, edges, at };
  }
}

// All elements for Cytoscape; room: {width, height} of the canvas.  shown: its `most` is chosen here.
export function elements(known, shown, room) {
  const { nodes, edges, at } = placed(known, shown, room);
  const found = [];
  for (const [id, { classes, root: _root, ...data }] of nodes) found.push({ data: { id, ...data }, position: at.nodes.get(id), classes });
  for (const edge of edges) {
    const place = at.edges.get(edge.id);
    if (!place) continue;
    const points = place.from === edge.a ? place.points : [...place.points].reverse();
    const [source_port, target_port] = edge.ends;
    const data = { id: edge.id, source: edge.a, target: edge.b, word: edge.word, source_port, target_port, ...bends(points, at.nodes.get(edge.a), at.nodes.get(edge.b)) };
    if (edge.load) data.load = width(edge.load);
    found.push({ data, classes: edge.classes + (data.weights.length ? "" : " straight") });
  }
  return found;
}

export class Canvas {
  // picked(id): a switch or group was chosen; opened(datapath id): twice; link(id or null): is pointed at;
  // foreign(id), cable(id): a neighbour or a link was chosen.
  constructor(place, { picked, opened, link = () => {}, foreign = () => {}, cable = () => {} }) {
    this.place = place;
    this.cy = cytoscape({
      container: place, style: style(), minZoom: 0.02, maxZoom: 2.5, boxSelectionEnabled: false,
      autounselectify: false, autoungrabify: true, layout: { name: "preset" },
    });
    const of = (act, other) => ({ target }) => (/^n:/.test(target.id()) ? other : act)(target.id());
    this.cy.on("tap", "node", of(picked, foreign));
    this.cy.on("dbltap", "node", of(opened, () => {}));
    this.cy.on("tap", "edge", ({ target }) => cable(target.id()));
    this.cy.on("mouseover", "edge", (event) => this.point(event.target, link));
    this.cy.on("tap", "edge", (event) => this.point(event.target, link));
    this.cy.on("mouseout", "edge", () => this.point(null, link));
    this.cy.on("mouseover select", "node", ({ target }) => this.enlarge(target));
    this.cy.on("mouseout unselect", "node", ({ target }) => target.selected() || this.enlarge(target, false));
    this.cy.on("zoom", () => this.cy.elements(":selected, .shown").forEach((own) => this.enlarge(own)));
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.cy.style(style());
    this.theme.addEventListener("change", this.repaint);
    this.shape = "";
  }

  point(edge, link) {
    const chosen = this.cy.nodes(":selected").connectedEdges();
    const others = this.cy.edges(".shown").difference(chosen);
    others.removeClass("shown").forEach((own) => this.enlarge(own, false));
    edge?.addClass("shown");
    if (edge) this.enlarge(edge);
    link(edge?.id() ?? null);
  }

  // Where the map is drawn small, the text that is pointed at or selected has its full size.
  enlarge(own, large = true) {
    if (!large) own.removeStyle("font-size text-background-opacity z-index");
    else own.style({ "font-size": FONT / Math.min(1, this.cy.zoom()), "text-background-opacity": 1, "z-index": 10 });
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
        if (!one.data.load) own.removeData("load");
        own.data(one.data);
        const kept = ["path", "back", "forth", "shown"].filter((name) => own.hasClass(name)).join(" ");
        own.classes(`${one.classes} ${kept}`);
        if (own.isNode()) own.position(one.position);
      }
    });
    const shape = wanted.filter((one) => one.position).map(({ data, position: { x, y } }) => [data.id, x, y]).join();
    if (shape !== this.shape && wanted.length) this.fit();
    this.shape = shape;
  }

  fit() {
    this.cy.fit(undefined, 12);
    if (this.cy.zoom() > 1) {
      this.cy.zoom(1);
      this.cy.center();
    }
  }

  choose(id) {
    this.cy.elements().unselect();
    this.cy.edges(".shown").removeClass("shown").forEach((own) => this.enlarge(own, false));
    const own = this.cy.getElementById(id);
    own.select();
    own.connectedEdges().addClass("shown").forEach((each) => this.enlarge(each));
    const place = own.renderedBoundingBox?.();
    if (own.nonempty() && (place.x1 < 0 || place.y1 < 0 || place.x2 > this.cy.width() || place.y2 > this.cy.height())) {
      this.cy.animate({ center: { eles: own } }, { duration: 200 });
    }
  }

  // steps: [{id of a link, forth: from a to b}], bridges: datapath ids
  path(bridges, steps) {
    this.cy.batch(() => {
      this.cy.elements().removeClass("path back forth");
      for (const id of bridges) this.cy.getElementById(id).addClass("path");
      for (const { id, forth } of steps) this.cy.getElementById(id).addClass(forth ? "path forth" : "path back");
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
