// What a change would lead to: the controller asks a copy of the network (POST /v1/what-if), and the
// answer is said in words.

import { call, get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { link } from "./router.js";
import { count, plural, vlanText } from "./words.js";

const SECONDS = 60; // that are predicted
const LINES = 6; // of a kind
const MOST = 300; // seconds that can be predicted
const LOCAL = 4294967294;

export const ask = (question, signal) => call("POST", ["what-if"], { body: { seconds: SECONDS, ...question }, signal });

// Questions about new settings of a bridge, and of one of its ports.
export const settingsOf = (bridge, settings) => ({ set: [{ bridge, settings }] });
export const portSettings = (bridge, port, settings) => settingsOf(bridge, { ports: { [port]: settings } });

// The question about a whole configuration file
export async function fileQuestion(file, text) {
  const packed = new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")));
  const octets = new Uint8Array(await packed.arrayBuffer());
  return { config: { file, data: btoa(Array.from(octets, (own) => String.fromCharCode(own)).join("")) } };
}

export const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${Number(value.toFixed(1))} s`);
const lasting = ({ since, seconds: long }) => `${long === null ? "to the end of what is predicted" : `for ${seconds(long)}`}${since ? `, from ${seconds(since)} on` : ""}`;
const some = (names) => (names.length > LINES ? `${names.slice(0, LINES).join(", ")} and ${count(names.length - LINES)} more` : names.join(", "));

// Pairs of bridges whose hosts do not reach each other, as sentences: first the bridges with most pairs.
function cutOff(pairs) {
  const alike = new Map();
  for (const own of pairs) {
    const key = `${vlanText(own.vlan)}: ${lasting(own)}`;
    alike.set(key, [...(alike.get(key) ?? []), own]);
  }
  const found = [];
  for (const [key, all] of alike) {
    for (let left = all; left.length; ) {
      const number = new Map();
      for (const name of left.flatMap(({ a, b }) => [a, b])) number.set(name, (number.get(name) ?? 0) + 1);
      const [most] = [...number].reduce((one, other) => (other[1] > one[1] ? other : one));
      const own = left.filter(({ a, b }) => a === most || b === most);
      const others = own.map(({ a, b }) => (a === most ? b : a));
      const learned = own[0].hosts[own[0].a === most ? 0 : 1];
      found.push(`Hosts of ${most} (${learned ? count(learned) : "none learned"}) and those of ${some(others)} do not reach each other, ${key}`);
      left = left.filter(({ a, b }) => a !== most && b !== most);
    }
  }
  return found;
}

// The answer as sentences: {bad: what interrupts hosts, other: what changes besides}
export function sentences(answer) {
  const forgotten = answer.flushed.filter((own) => own.addresses);
  const roots = new Map();
  for (const { bridge, root, root_name: name } of answer.roots) roots.set(name ?? root, [...(roots.get(name ?? root) ?? []), bridge]);
  const bad = [
    ...answer.loops.map((own) => `A loop: broadcasts circle, ${vlanText(own.vlan)}: ${lasting(own)}`),
    ...cutOff(answer.cut_off),
    ...answer.silent.map((own) => `${own.bridge} ${own.port} (${own.hosts ? plural(own.hosts, "host") : "no host learned"}) does not forward, ${vlanText(own.vlan)}: ${lasting(own)}`),
    ...answer.refused.map((own) => `${own.mac} at ${own.bridge} ${own.port} is refused, ${vlanText(own.vlan)}: ${own.bound_port === null ? "it has no binding" : `its binding is for ${own.bound_bridge} ${own.bound_port}`}`),
  ];
  return {
    bad,
    other: [
      ...[...roots].map(([root, of]) => `${root} becomes the root of ${some(of)}`),
      ...(answer.roles.length ? [`Other roles: ${some(answer.roles.map((own) => `${own.bridge} ${own.port} ${own.before ?? "none"} → ${own.after ?? "none"}`))}`] : []),
      ...(forgotten.length ? [`${plural(forgotten.reduce((sum, own) => sum + own.addresses, 0), "learned address", "learned addresses")} of ${plural(forgotten.length, "port")} forgotten: until a host sends again, frames to it are flooded`] : []),
      ...(answer.groups.length ? [`Multicast groups: ${some(answer.groups.map((own) => `${own.group} ${own.change} ${own.bridge} ${own.port}${own.receiver ? " with receivers" : ""}`))}`] : []),
      ...(answer.storms.length ? [`The broadcasts leave by ${plural(answer.storms.length, "port")} with hosts: ${some(answer.storms.map((own) => `${own.bridge} ${own.port} ${count(own.rate)} a second`))}`] : []),
      ...(answer.paths.length ? [`Other paths in the fabric: ${some(answer.paths.map((own) => `${own.a} to ${own.b} ${own.after.length ? `by ${own.after.map((path) => path.join(", ")).join(" or ")}` : "has none"}`))}`] : []),
      ...(answer.single_points.length ? [`Single points of failure afterwards: ${some(answer.single_points)}`] : []),
    ],
  };
}

function words(answer, question) {
  const { bad, other } = sentences(answer);
  const list = (lines, kind) => html`<ul class="consequences">${lines.slice(0, LINES).map((own) => html`<li class=${kind}>${own}.</li>`)}${lines.length > LINES ? html`<li class="quiet">${count(lines.length - LINES)} more of this kind.</li>` : nothing}</ul>`;
  return html`${bad.length ? list(bad, "bad") : html`<p><b>No host is cut off, and there is no loop.</b></p>`}${list(other, "")}
    ${answer.assumptions.length ? html`<p class="quiet">Assumed: ${answer.assumptions.join("; ")}.</p>` : nothing}
    <p><a href=${onMap(question)} @click=${() => document.getElementById("dialog").close()}>Step through it on the map</a></p>`;
}

// The map with the answer to a question, and the question of such an address: anybody may have written it.
export const onMap = (question) => link(["map"], { ask: JSON.stringify(question) });

export function questionOf(route) {
  try {
    return JSON.parse(route.query.get("ask"));
  } catch {
    return null;
  }
}

// A link is cut, as seen from one of its switches: of an aggregation one member.
export function cutOf({ a, b, lag }, id) {
  const [side, end] = a.datapath_id === id ? ["a", a] : ["b", b];
  return { cut: [`${id}/${lag?.[side] ? (lag.members[0]?.[side] ?? end.port.name) : end.port.number}`] };
}

// A field with a number and the words around it, for whatIf.
const numberField = (before, value, after, max) => () => {
  const place = document.createElement("span");
  render(html`<label>${before} <input type="number" min="1" max=${max} value=${value} required> ${after}</label>`, place);
  place.value = () => place.querySelector("input").valueAsNumber || value;
  return place;
};

// Lists of switches and of the ports of the chosen one, for whatIf.  names: of switches, by datapath id
// source: the port that is not among them
const portField = (names, first, source) => () => {
  const place = document.createElement("span");
  let chosen = first;
  let ports = [];
  const draw = () => render(
    html`<label>switch <select @change=${(event) => (loading = look(event.target.value))}>${[...names].map(([id, name]) => html`<option value=${id} ?selected=${id === chosen}>${name}</option>`)}</select></label>
      <label>port <select class="port">${ports.map((own) => html`<option value=${own.number}>${own.name}${own.up ? "" : " (no carrier)"}</option>`)}</select></label>`,
    place,
  );
  async function look(id) {
    chosen = id;
    const found = await get(["bridges", id, "ports"]).catch(() => ({ ports: [] }));
    if (chosen !== id) return;
    ports = found.ports.filter(({ number, members }) => number !== LOCAL && !members && `${id}/${number}` !== source);
    draw();
  }
  draw();
  let loading = look(first);
  place.value = async () => {
    await loading;
    return `${chosen}/${place.querySelector(".port").value}`;
  };
  return place;
};

// An element with a button that asks, and the answer below it.
// choices: [[what happens, question, field]], more than one for a selection.  A question may be a function that gives it,
// or will; field makes an element, which is shown behind the choice, and whose value the function is given.
export function whatIf(...choices) {
  const place = document.createElement("div");
  place.className = "what-if";
  const fields = [];
  let chosen = 0;
  const choose = (event) => {
    chosen = event.target.selectedIndex;
    draw();
  };
  function draw(answer = nothing, busy = false) {
    const [text, , field] = choices[chosen];
    const own = field ? (fields[chosen] ??= field()) : nothing;
    const alone = choices.length === 1 && !field;
    render(
      html`<p>${choices.length > 1
        ? html`<label>What if <select @change=${choose}>${choices.map(([text]) => html`<option>${text}</option>`)}</select></label>`
        : alone ? nothing : `What if ${text}`} ${own} <button type="button" @click=${now} ?disabled=${busy}>${alone ? `What if ${text}?` : "Ask"}</button> <span class="quiet">Nothing is changed.</span></p>
        <div role="status">${answer}</div>`,
      place,
    );
  }
  async function now() {
    draw(html`<p class="quiet">A copy of the network is asked…</p>`, true);
    try {
      const [, given] = choices[chosen];
      const question = typeof given === "function" ? await given(await fields[chosen]?.value()) : given;
      draw(words(await ask(question), question));
    } catch (error) {
      draw(html`<p class="problem">${error.message}</p>`);
    }
  }
  place.clear = () => draw();
  draw();
  return place;
}

// All switches are without this controller for a time, alone or with another change.
const without = (text, question = {}) => [
  text,
  (disconnected) => ({ ...question, disconnected, seconds: Math.min(MOST, disconnected + SECONDS) }),
  numberField("for", 30, "seconds", MOST),
];
export const aboutController = () => whatIf(without("all switches are without this controller"));

// A host moves from a port to another one.  names: of switches, by datapath id
const moves = (text, port, names, [bridge] = port.split("/")) => [
  text, (to) => ({ move: [{ source: port, to }] }), portField(names, bridge, port),
];
export const aboutHost = (port, names) => whatIf(moves("it moves to", port, names));

// For a port: its cable (of an aggregation all cables), what may be behind it, and costs that move traffic to or from it.
export function aboutPort(bridge, { name, number, members }, tree, names) {
  const ends = (members ?? [number]).map((own) => `${bridge}/${own}`);
  const [port] = ends;
  const costs = [[1, "the least"], [2000, "as 10 Gbit/s"], [20000, "as 1 Gbit/s"], [200000, "as 100 Mbit/s"], [200000000, "the most"]];
  return whatIf(
    ["its cable is cut", { cut: ends }],
    without("its cable is cut while all switches are without this controller", { cut: ends }),
    moves("its host moves to", port, names),
    ["broadcasts come in without end", (rate) => ({ storm: [{ port, rate }] }), numberField("at", 10000, "frames a second", 100000000)],
    ...(members ? [] : [0, 32768].map((priority) => [`a foreign bridge with priority ${priority} is plugged in`, { attach: [{ port, priority }] }])),
    ...(tree ? costs.map(([cost, like]) => [`its path cost is ${count(cost)} (${like})`, portSettings(bridge, name, { stp: { path_cost: cost } })]) : []),
  );
}

// For a switch: its power, with and without the controller, and its priority in spanning tree.
export function aboutSwitch(bridge, tree) {
  const priorities = Array.from({ length: 16 }, (_, step) => step * 4096);
  return whatIf(
    ["it loses its power", { fail: [bridge] }],
    without("it loses its power while all switches are without this controller", { fail: [bridge] }),
    ...(tree ? priorities.map((priority) => [`its priority is ${priority}`, settingsOf(bridge, { stp: { priority } })]) : []),
  );
}
