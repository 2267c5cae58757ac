// The drawing of the map, by Cytoscape.  What it draws is text of others, too: Cytoscape paints on a
// canvas, so that no name is ever markup.

import cytoscape from "../vendor/cytoscape/cytoscape.esm.min.mjs";
import { isBehindOthers, layered } from "./layout.js";
import { linkState, problemsOf } from "./network.js";
import { ROLE_LETTERS } from "./words.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const MARKS = { discarding: "✕", learning: "◐", forwarding: "" };

const FONT = 12;
const MOST_FONT = 26;

function style(font = FONT) {
  const text = colour("text");
  const line = (name, lineStyle, width = 2) => ({ "line-color": colour(name), "line-style": lineStyle, width });
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle", width: 116, height: 36, label: "data(label)",
        "background-color": colour("surface"), "border-width": 1.5, "border-color": colour("muted"),
        color: text, "font-size": font, "font-family": "system-ui, sans-serif", "text-valign": "center",
        "text-wrap": "wrap", "text-max-width": 190, "line-height": 1.15,
      },
    },
    { selector: "node.root", style: { "border-width": 5, "border-style": "double", "border-color": colour("accent") } },
    { selector: "node.trouble", style: { "border-color": colour("warn"), "border-width": 3 } },
    { selector: "node.away", style: { "border-style": "dashed", color: colour("muted"), "background-color": colour("back") } },
    { selector: "node.neighbour", style: { shape: "cut-rectangle", height: 30, "font-size": 10, "border-style": "dotted", "background-color": colour("back"), color: colour("muted") } },
    {
      selector: "edge",
      style: {
        "curve-style": "bezier", "control-point-step-size": 34, ...line("muted", "solid"),
        "source-label": "data(aLabel)", "target-label": "data(bLabel)", label: "data(label)",
        "source-text-offset": 46, "target-text-offset": 46, "source-text-margin-y": -9, "target-text-margin-y": 9, "font-size": 10, "min-zoomed-font-size": 7.5,
        color: text, "text-background-color": colour("back"), "text-background-opacity": 0.85,
        "text-background-padding": 1.5, "arrow-scale": 1.3,
      },
    },
    { selector: "edge.forwarding", style: line("forwarding", "solid") },
    { selector: "edge.learning", style: line("learning", "dotted") },
    { selector: "edge.discarding", style: line("discarding", "dashed") },
    { selector: "edge.bow", style: { "curve-style": "unbundled-bezier", "control-point-distances": -58, "control-point-weights": 0.5 } },
    { selector: "edge.lag", style: { width: 5 } },
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

function end(port, side, guarded) {
  const mark = guarded ? " ⚠" : "";
  if (!side) return port.name + mark;
  return `${port.name} ${ROLE_LETTERS[side.role] ?? ""}${MARKS[side.state] ?? ""}`.trim() + mark;
}

export function linkId(link) {
  return `${link.a.datapath_id}/${link.a.port.number}-${link.b.datapath_id}/${link.b.port.number}`;
}

// known: {bridges: of /v1/bridges, map: of /v1/topology}
export function elements({ bridges, map }, outside) {
  const about = new Map(bridges.map((bridge) => [bridge.datapath_id, bridge]));
  const places = layered(map.bridges, map.links);
  const guarded = new Set(bridges.flatMap((bridge) => bridge.guarded.map(({ port }) => `${bridge.datapath_id}/${port.number}`)));
  const held = ({ datapath_id: id, port }) => guarded.has(`${id}/${port.number}`);
  const found = [];
  for (const { datapath_id: id, name, connected, root } of map.bridges) {
    const own = about.get(id);
    const trouble = own ? problemsOf(own) : [];
    const second = [root ? "root" : "", connected ? "" : "away", trouble.length && connected ? "⚠" : ""].filter(Boolean).join(" · ");
    const classes = [root && "root", !connected && "away", connected && trouble.length && "trouble"].filter(Boolean).join(" ");
    found.push({ data: { id, label: second ? `${name}\n${second}` : name }, position: places.get(id), classes });
  }
  for (const link of map.links) {
    const { a, b, stp, lag } = link;
    const lagName = [lag?.a, lag?.b].filter(Boolean).join(" – ");
    const bow = isBehindOthers(places.get(a.datapath_id), places.get(b.datapath_id));
    const classes = [linkState(link), bow && "bow", lagName && "lag", stp?.a?.state === "discarding" && "aBlocked", stp?.b?.state === "discarding" && "bBlocked"];
    found.push({
      data: {
        id: linkId(link), source: a.datapath_id, target: b.datapath_id,
        aLabel: end(a.port, stp?.a, held(a)), bLabel: end(b.port, stp?.b, held(b)), label: lagName ? `⇉ ${lagName}` : "",
      },
      classes: classes.filter(Boolean).join(" "),
    });
  }
  if (outside) neighbours(map, places, held, found);
  return found;
}

function neighbours(map, places, held, found) {
  const seen = new Map();
  for (const own of map.neighbours) {
    const id = `n:${own.chassis_id}`;
    const at = places.get(own.datapath_id);
    if (!at) continue;
    if (!seen.has(id)) {
      seen.set(id, true);
      const turn = (seen.size * 2.4) % 6.28;
      found.push({
        data: { id, label: own.lldp?.system_name || own.chassis_id },
        position: { x: at.x + Math.cos(turn) * 100, y: at.y + 75 },
        classes: "neighbour",
      });
    }
    found.push({ data: { id: `${id}@${own.datapath_id}/${own.port.number}`, source: own.datapath_id, target: id, aLabel: end(own.port, null, held(own)), bLabel: own.port_id ?? "", label: "" }, classes: "outside" });
  }
}

export class Canvas {
  // picked(datapath id): a switch was chosen; opened(datapath id): twice.
  constructor(place, { picked, opened }) {
    this.cy = cytoscape({
      container: place, style: style(), minZoom: 0.12, maxZoom: 2.5, boxSelectionEnabled: false,
      autounselectify: false, layout: { name: "preset" },
    });
    this.moved = new Set();
    this.cy.on("dragfree", "node", (event) => this.moved.add(event.target.id()));
    this.cy.on("tap", "node", (event) => event.target.id().startsWith("n:") || picked(event.target.id()));
    this.cy.on("dbltap", "node", (event) => event.target.id().startsWith("n:") || opened(event.target.id()));
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.cy.style(style(this.font));
    this.theme.addEventListener("change", this.repaint);
    this.first = true;
    this.font = FONT;
    this.cy.on("zoom", () => this.keepReadable());
  }

  // Names grow where all is small, as far as there is room beside a switch.
  keepReadable() {
    const wanted = Math.min(Math.max(FONT, Math.round(10 / this.cy.zoom())), MOST_FONT);
    if (wanted === this.font) return;
    this.font = wanted;
    this.cy.style(style(wanted));
  }

  // Changes what differs, so that what somebody has moved or zoomed stays.
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
        if (own.isNode() && !this.moved.has(one.data.id)) own.position(one.position);
      }
    });
    if (this.first && wanted.length) {
      this.fit();
      this.first = false;
    }
  }

  fit() {
    this.cy.fit(undefined, 30);
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

  zoom(factor) {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  close() {
    this.theme.removeEventListener("change", this.repaint);
    this.cy.destroy();
  }
}
