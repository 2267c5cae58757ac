// The laboratory: the map of the web page with a network in virtual time, and the time itself.

import { Canvas, elements } from "../page/js/canvas.js";
import { linkId } from "../page/js/drawing.js";
import { html, nothing, render } from "../page/js/lit.js";
import { plural } from "../page/js/words.js";
import { Network } from "./network.js";
import { panel } from "./panel.js";

const TURN = 100; // milliseconds between two looks while time passes
const KEPT = 400; // looks that are kept
const SPEEDS = [[0.01, "100 times slower"], [0.1, "10 times slower"], [1, "as in a real network"], [10, "10 times faster"]];
const HEARD = { true: "Right.", false: "The network has shown something else.", null: "The network has not shown it yet: do it, and let time pass." };

const main = document.getElementById("main");
const network = new Network();
const state = { seen: null, kept: [], at: null, chosen: null, from: null, speed: 1, runs: false, error: "", checked: new Map() };
const shown = { outside: true, load: false, opened: new Set() };
let canvas = null;

const nameOf = (id) => (id.startsWith("n:") ? id.slice(2) : state.seen.bridges.find((own) => own.datapath_id === id)?.name);

async function ask(what, ...given) {
  try {
    const answer = await network.ask(what, ...given);
    Object.assign(state, { seen: answer, at: null, error: answer.error ?? "" });
    if (what === "open") state.kept = [];
    state.kept.push(answer);
    state.kept.splice(0, state.kept.length - KEPT);
    draw();
    return answer;
  } catch (error) {
    Object.assign(state, { error: error.message, runs: false });
    if (state.seen) draw();
    else render(html`<p class="problem" role="alert">The laboratory cannot begin: ${error.message}</p>`, main);
    return null;
  }
}

const say = {
  checked: state.checked,
  act: ask,
  choose(name) {
    if (state.from && name !== state.from) {
      ask("connect", state.from, name);
      state.from = null;
    } else state.chosen = state.chosen === name ? null : name;
    draw();
  },
  from(name) {
    state.from = name;
    draw();
  },
  async check(number, choice) {
    const answer = await ask("answer", number, choice);
    if (answer) state.checked.set(number, HEARD[answer.right]);
    draw();
  },
};

async function open(name) {
  Object.assign(state, { chosen: null, from: null, runs: false });
  state.checked.clear();
  await ask("open", name);
  canvas.fit();
}

function run(on) {
  Object.assign(state, { runs: on, at: null, last: performance.now() });
  draw();
}

setInterval(() => {
  if (!state.runs || network.busy) return;
  const now = performance.now();
  const passed = Math.min(now - state.last, 3 * TURN) / 1000;
  state.last = now;
  ask("advance", passed * state.speed);
}, TURN);

function look(at) {
  Object.assign(state, { at: at >= state.kept.length - 1 ? null : Math.max(0, at), runs: false });
  draw();
}

// A cable is cut or plugged in by a click on it, where it is the only one between its ends.
function cable(id) {
  const link = state.seen.map.links.find((own) => linkId(own) === id);
  if (!link || link.lag) return;
  ask(link.down ? "plug" : "cut", nameOf(link.a.datapath_id), link.a.port.name);
}

function draw() {
  const last = state.kept.length - 1;
  const at = state.at ?? last;
  const seen = state.kept[at] ?? state.seen;
  if (!canvas) begin();
  canvas.update(elements({ ...seen, problems: [], loads: null }, shown, canvas.room));
  const chosen = seen.bridges.find((own) => own.name === state.chosen)?.datapath_id ?? (state.chosen ? `n:${state.chosen}` : "");
  if (chosen !== state.marked) canvas.choose(chosen);
  state.marked = chosen;
  main.querySelector(".canvas-box").setAttribute("aria-label", `Map of ${plural(seen.bridges.length, "bridge")}, ${plural(seen.hosts.length, "host")} and ${plural(seen.cables.length, "cable")}. The lists beside it say the same.`);
  render(tools(seen, at, last), main.querySelector(".time"));
  render(panel(seen, state.chosen, state.from, say), main.querySelector(".panel"));
  const log = main.querySelector(".log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  render(seen.log.map((own) => html`<li><span class="quiet">${own.at.toFixed(3)} s</span> ${own.text}</li>`), log);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function tools(seen, at, last) {
  return html`<div class="filters">
      <button class="primary" @click=${() => run(!state.runs)}>${state.runs ? "Pause" : "Run"}</button>
      <button @click=${() => (run(false), ask("step"))}>Step</button>
      <label>Time passes <select @change=${(event) => (state.speed = Number(event.target.value))}>${SPEEDS.map(([speed, text]) => html`<option value=${speed} ?selected=${speed === state.speed}>${text}</option>`)}</select></label>
      <span class="clock">${seen.now.toFixed(3)} s</span>
      <button @click=${() => look(at - 1)} ?disabled=${at <= 0}>◀ Earlier</button>
      <input type="range" min="0" max=${Math.max(last, 0)} .value=${String(at)} aria-label="Look back" aria-valuetext="${seen.now.toFixed(3)} s" @input=${(event) => look(Number(event.target.value))}>
      <button @click=${() => look(at + 1)} ?disabled=${at >= last}>Later ▶</button>
    </div>
    <p role="alert" class="problem">${state.error}</p>
    ${state.at === null ? nothing : html`<p class="quiet">You look at the past. What you do happens at ${state.seen.now.toFixed(3)} s.</p>`}
    ${seen.lost ? html`<p class="bad">${plural(seen.lost, "frame")} of hosts lost: the cables are full.</p>` : nothing}`;
}

function begin() {
  render(
    html`<div class="map-grid lab">
      <section class="map-side">
        <h1 class="unseen">Laboratory</h1>
        <div class="filters"><label>Lab <select @change=${(event) => open(event.target.value)}>${state.seen.labs.map((own) => html`<option value=${own.name}>${own.title}</option>`)}</select></label>
          <span class="quiet">Click a cable to cut it or to plug it in.</span></div>
        <div class="canvas-box" role="application" tabindex="0" aria-label="Map"><div class="canvas"></div></div>
        <div class="time"></div>
        <ol class="log" tabindex="0" aria-label="What happened"></ol>
      </section>
      <aside class="panel" aria-label="Theory, exercises and what is chosen"></aside>
    </div>`,
    main,
  );
  const pick = (id) => say.choose(nameOf(id));
  canvas = new Canvas(main.querySelector(".canvas"), { picked: pick, opened: () => {}, foreign: pick, cable });
  main.querySelector(".canvas-box").addEventListener("keydown", (event) => canvas.key(event));
  new ResizeObserver(() => {
    canvas.resize();
    if (state.seen) draw();
  }).observe(main.querySelector(".canvas"));
}

render(html`<p class="quiet" role="status">Python is loading. The first time takes some seconds.</p>`, main);
ask("look");
