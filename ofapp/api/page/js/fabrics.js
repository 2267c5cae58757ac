// Fabrics: their members, the links between them with state and load, and both as a drawing.

import { get } from "./api.js";
import { Canvas, elements } from "./canvas.js";
import { linkId } from "./drawing.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { calmly, every } from "./poll.js";
import { Rates } from "./rates.js";
import { link } from "./router.js";
import { onMap } from "./whatif.js";
import { age, bits, count, facts } from "./words.js";

export const title = "Fabrics";

const SECONDS = 5;
const TELLING = /^(fabric|switch|bridge)\b/;

// States of links, as states of ports: they share colours, shapes and strokes.
const DRAWN = { carries: "forwarding", probing: "learning", held: "learning", down: "disabled", unreachable: "disconnected", wrong: "discarding" };
const SHAPES = { carries: "●", probing: "◐", held: "◐", down: "○", unreachable: "○", wrong: "✕" };

export async function show(place, route, signal) {
  render(html`<p class="problem" role="alert" hidden></p><div class="about"></div>
    <div class="canvas-box" tabindex="0" role="application" hidden><div class="canvas"></div></div><div class="lists"></div>`, place);
  const problem = place.querySelector(".problem");
  const box = place.querySelector(".canvas-box");
  const rates = new Rates();
  let canvas = null;
  let shown = null;
  signal.addEventListener("abort", () => canvas?.close());
  const paint = () => canvas?.update(elements(drawing(shown, rates), { outside: false, opened: new Set() }, canvas.room));
  const again = calmly(() => {
    canvas?.resize();
    paint();
  }, 300, signal);
  const resized = new ResizeObserver(again);
  resized.observe(place.querySelector(".canvas"));
  signal.addEventListener("abort", () => resized.disconnect());

  const look = every(
    SECONDS,
    async () => {
      const { fabrics } = await get(["fabrics"], {}, signal);
      const name = route.path[1] ?? fabrics[0]?.name;
      const fabric = name === undefined ? null : await get(["fabrics", name], {}, signal);
      if (signal.aborted) return;
      problem.hidden = true;
      render(head(fabrics, fabric), place.querySelector(".about"));
      if (!fabric) return;
      rates.take(fabric.links.filter((own) => own.counters).map((own) => ({ number: own.one, counters: { ...own.counters, age: fabric.counters_age ?? 0 } })));
      render(lists(fabric, rates), place.querySelector(".lists"));
      box.hidden = false;
      box.setAttribute("aria-label", `Drawing of the fabric ${fabric.name}. The lists below say the same.`);
      canvas ??= new Canvas(place.querySelector(".canvas"), { picked() {}, opened() {} });
      shown = fabric;
      paint();
    },
    signal,
    (error) => {
      problem.hidden = false;
      problem.textContent = error.message;
    },
  );
  const soon = calmly(look, 500, signal);
  live.hear((event) => TELLING.test(event.kind) && soon(), signal);
  box.addEventListener("keydown", (event) => canvas?.key(event));
}

const memberOf = (port) => port.split("/", 1)[0];
const portOf = (port) => port.slice(memberOf(port).length + 1);

// A fabric as the map has a network: its members are the switches.
function drawing(fabric, rates) {
  const ids = new Map(fabric.members.map((member) => [member.name, member.datapath_id]));
  const loads = new Map();
  const links = [];
  const problems = []; // links that are wrong or down are drawn as missing cables
  for (const own of fabric.links) {
    if (own.other === null) continue;
    const stp = DRAWN[own.state] === "disabled" ? "discarding" : DRAWN[own.state];
    const connected = own.state !== "unreachable";
    const [a, b] = [own.one, own.other].map((port) => ({ datapath_id: ids.get(memberOf(port)), port: { number: port, name: portOf(port) }, connected }));
    const side = { role: "", state: stp };
    const drawn = { a, b, stp: { a: side, b: side }, lag: null };
    if (["down", "wrong"].includes(own.state)) problems.push({ kind: "cable.missing", datapath_id: null, severity: "error", acknowledged: null, data: { ends: [a, b].map((end) => [end.datapath_id, end.port.name]) } });
    const now = rates.now(own.one);
    if (now) loads.set(linkId(drawn), { forth: now.tx, back: now.rx });
    links.push(drawn);
  }
  const bridges = fabric.members.map((member) => ({ datapath_id: member.datapath_id, name: member.name, connected: member.connected, root: false }));
  return { bridges: [], map: { bridges, links, neighbours: [] }, problems, loads };
}

function head(fabrics, fabric) {
  const others = fabrics.filter((own) => own.name !== fabric?.name);
  if (!fabric) {
    return html`<h1>Fabrics</h1><p class="quiet">There is none. Section <code>fabrics</code> of the configuration file makes several
      switches one bridge: <a href="guide/fabric.html">how</a>.</p>`;
  }
  return html`<h1>${fabric.name}</h1>
    ${others.length ? html`<p>Other fabrics: ${others.map((own) => html`<a href=${link(["fabrics", own.name])}>${own.name}</a> `)}</p>` : nothing}
    ${fabric.paused ? html`<p class="problem">⚠ Spanning tree and other protocols are paused: ${fabric.paused}</p>` : nothing}
    ${facts([
      ["bridge", html`<a href=${link(["bridge", fabric.datapath_id])}>${fabric.bridge}</a>`],
      ["plan", fabric.settled ? "all members use the newest one" : "is changing"],
      ["members ready", `${count(fabric.members.filter((own) => own.ready).length)} of ${count(fabric.members.length)}`],
      ["links that carry frames", `${count(fabric.links.filter((own) => own.state === "carries").length)} of ${count(fabric.links.length)}`],
      ["MTU of hosts and links", `${count(fabric.mtu)}, ${count(fabric.link_mtu)}`],
    ])}`;
}

function lists(fabric, rates) {
  return html`<h2>Links</h2>
    ${table(`Links of ${fabric.name}`, ["Link", "To", "State", "For", "There", "Back", "Cost", "Failures", "Why it carries nothing"], fabric.links.map((own) => linkRow(own, rates.now(own.one), fabric.name)))}
    <h2>Members</h2>
    ${table(`Members of ${fabric.name}`, ["Member", "Datapath id", "State", "Version", "Holds", "Ports", "Hosts", "Conversations"], fabric.members.map((own) => memberRow(own, fabric.name)))}`;
}

const NUMBERS = new Set(["For", "There", "Back", "Cost", "Failures", "Version", "Ports", "Hosts", "Conversations"]);

const table = (label, titles, rows) => html`<div class="scroll" role="region" aria-label=${label} tabindex="0"><table class="tall">
  <thead><tr>${titles.map((own) => html`<th scope="col" class=${NUMBERS.has(own) ? "number" : ""}>${own}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;

function linkRow(own, now, fabric) {
  return html`<tr><th scope="row">${own.one}</th><td>${own.other ?? "–"}${own.state === "carries" ? html` <a href=${onMap({ cut: [`${fabric}/${own.one}`] })}>What if it is cut?</a>` : nothing}</td>
    <td><span class="badge ${DRAWN[own.state] ?? ""}" title=${own.meaning}><span aria-hidden="true">${SHAPES[own.state] ?? "?"}</span> ${own.state}</span></td>
    <td class="number">${age(own.seconds)}</td><td class="number">${bits(now?.tx)}</td><td class="number">${bits(now?.rx)}</td>
    <td class="number">${count(own.cost)}</td><td class="number">${count(own.failures)}</td><td class="why">${own.reason}</td></tr>`;
}

function memberRow(own, fabric) {
  const state = own.ready ? ["forwarding", "●", "ready"] : own.connected ? ["learning", "◐", "not ready"] : ["disconnected", "○", "disconnected"];
  return html`<tr><th scope="row">${own.name}</th><td class="code">${own.datapath_id}</td>
    <td><span class="badge ${state[0]}"><span aria-hidden="true">${state[1]}</span> ${state[2]}</span>${own.ready ? html` <a href=${onMap({ fail: [`${fabric}/${own.name}`] })}>What if it loses its power?</a>` : nothing}</td>
    <td class="number">${count(own.version)}</td><td>${own.versions.join(", ")}</td>
    <td class="number">${count(own.ports)}</td><td class="number">${count(own.hosts)}</td><td class="number">${count(own.conversations)}</td></tr>`;
}
