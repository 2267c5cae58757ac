// The last events, and each new one as it happens.

import { get } from "./api.js";
import { grouped } from "./groups.js";
import { html, nothing, render, svg } from "./lit.js";
import { live } from "./live.js";
import { notify } from "./notices.js";
import { amend, link } from "./router.js";
import { Table } from "./table.js";
import { ago, clock, count, plural } from "./words.js";

export const title = "Events";

const KEPT = 5000;
const SHAPES = { error: "✖", warning: "⚠", info: "●", debug: "·" };
const SEVERITIES = ["debug", "info", "warning", "error"];
const FILTERS = ["kind", "bridge", "port", "severity", "text"];
const BARS = 60; // of the strip of time

export async function show(place, route, signal) {
  const { bridges } = await get(["bridges"], {}, signal);
  return events(place, route, signal, new Map(bridges.map((own) => [own.datapath_id, own.name])), null);
}

export async function tab(place, { bridge, route, signal }) {
  await events(place, route, signal, new Map([[bridge.datapath_id, bridge.name]]), bridge.datapath_id);
}

async function events(place, route, signal, names, only) {
  render(html`${only ? nothing : html`<h1>Events</h1>`}<div class="bar"></div><div class="strip"></div><div class="about" role="status"></div><div class="rows"></div>`, place);
  let all = []; // newest first
  let paused = false;
  let apart = false; // each event by itself
  const opened = new Set(); // numbers of the newest events of groups that are shown in full
  let waiting = [];
  let soon = false;
  const filter = () => Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? ""]));

  const table = new Table(place.querySelector(".rows"), {
    label: "Events, the newest first",
    key: (event) => event.number,
    columns: [
      { name: "time", title: "Time", width: 12, line: 1, kind: "code", cell: (event) => html`<time datetime=${event.time}>${clock(event.time)}</time>` },
      { name: "severity", title: "Severity", width: 10, line: 1, cell: (event) => html`<span class="severity ${event.severity}"><span aria-hidden="true">${SHAPES[event.severity]}</span> ${event.severity}</span>` },
      ...(only ? [] : [{ name: "bridge", title: "Switch", width: 16, line: 1, cell: (event) => (event.datapath_id ? html`<a href=${link(["bridge", event.datapath_id])}>${names.get(event.datapath_id) ?? event.datapath_id}</a>` : "") }]),
      { name: "kind", title: "Kind", width: 22, kind: "code", cell: (event) => html`<button class="plain" title="What it means" @click=${() => explain(event.kind)}>${event.kind}</button>` },
      { name: "message", title: "What", width: 90, line: 2, cell: (event) => html`${event.more ? html`<button class="small" aria-expanded=${opened.has(event.number)} @click=${() => open(event)}>${opened.has(event.number) ? "▾" : "▸"} ${plural(event.more + 1, "time")}</button> ` : event.inner ? html`<span class="quiet" aria-hidden="true">└ </span>` : nothing}<span title=${event.message}>${event.message}</span>` },
    ],
    empty: "No event fits. What happens from now on appears here.",
  });

  const fits = (event, { kind, bridge, port, severity, text }) =>
    SEVERITIES.indexOf(event.severity) >= SEVERITIES.indexOf(severity || "info") &&
    (!kind || kind.split(",").some((own) => `${event.kind}.`.startsWith(`${own.trim().replace(/\.$/, "")}.`))) &&
    (!(only ?? bridge) || event.datapath_id === (only ?? bridge)) &&
    (!port || String(event.port) === port || event.data.port_name === port) &&
    (!text || `${event.message} ${JSON.stringify(event.data)}`.toLowerCase().includes(text.toLowerCase()));

  function open({ number }) {
    if (!opened.delete(number)) opened.add(number);
    draw();
  }

  // A row for each group, and for each event of a group that is open.
  function rowsOf(events) {
    if (apart) return events;
    return grouped(events).flatMap(({ latest, events: own }) => [
      own.length > 1 ? { ...latest, more: own.length - 1 } : latest,
      ...(opened.has(latest.number) ? own.slice(1).map((event) => ({ ...event, inner: true })) : []),
    ]);
  }

  function draw() {
    const given = filter();
    const found = all.filter((event) => fits(event, given));
    table.set(rowsOf(found));
    bar(given);
    render(strip(found), place.querySelector(".strip"));
  }

  function bar(given) {
    const kinds = [...new Set(all.map((event) => event.kind))].sort();
    const read = (event) => {
      event.preventDefault();
      const form = event.target.form ?? event.target;
      for (const [name, value] of new FormData(form)) {
        amend(route, { [name]: value });
        if (!value) route.query.delete(name);
      }
      live.setSeverity(route.query.get("severity") === "debug" ? "debug" : "info");
      draw();
    };
    render(
      html`<form class="filters" @submit=${read} @change=${read} @input=${read}>
        <label>Kind <input name="kind" list="kinds" .value=${given.kind} size="16" spellcheck="false" autocomplete="off" placeholder="stp,port"></label>
        <datalist id="kinds">${kinds.map((kind) => html`<option value=${kind}></option>`)}</datalist>
        ${only ? nothing : html`<label>Switch <select name="bridge"><option value="">any</option>${[...names].map(([id, name]) => html`<option value=${id} ?selected=${given.bridge === id}>${name}</option>`)}</select></label>`}
        <label>At least <select name="severity">${SEVERITIES.map((own) => html`<option value=${own} ?selected=${(given.severity || "info") === own}>${own === "debug" ? "debug: each BPDU" : own}</option>`)}</select></label>
        <label>Port <input name="port" .value=${given.port} size="10" spellcheck="false" autocomplete="off"></label>
        <label>Host or text <input name="text" .value=${given.text} size="16" spellcheck="false" autocomplete="off"></label>
        <button type="button" aria-pressed=${apart} @click=${separate}>Each event</button>
        <button type="button" aria-pressed=${paused} @click=${pause}>${paused ? `Continue (${count(waiting.length)} new)` : "Pause"}</button>
      </form>`,
      place.querySelector(".bar"),
    );
  }

  // The catalogue's entry of a kind: what it means, and what to do about it.
  async function explain(kind) {
    let known;
    try {
      const { kinds } = await get(["events", "kinds"], { kind }, signal);
      known = kinds.find((own) => own.kind === kind);
    } catch (error) {
      if (!signal.aborted) notify(error.message, "problem");
    }
    if (!known) return;
    const close = () => render(nothing, place.querySelector(".about"));
    render(
      html`<p><code>${kind}</code>: ${known.meaning} ${known.remedy ? html`<b>To do:</b> ${known.remedy}` : "Nothing has to be done."}
        <button type="button" class="small" @click=${close}>Close</button></p>`,
      place.querySelector(".about"),
    );
  }

  function pause() {
    paused = !paused;
    if (!paused) take();
    draw();
  }

  function separate() {
    apart = !apart;
    draw();
  }

  function take() {
    const seen = new Set(all.slice(0, 200).map((event) => event.number));
    all = [...waiting.filter((event) => !seen.has(event.number)).reverse(), ...all].slice(0, KEPT);
    waiting = [];
  }

  live.hear((event) => {
    waiting.push(event);
    if (waiting.length > KEPT) waiting.shift();
    if (soon) return;
    soon = true;
    setTimeout(() => {
      soon = false;
      if (signal.aborted) return;
      if (!paused) take();
      draw();
    }, 150);
  }, signal);
  signal.addEventListener("abort", () => live.setSeverity("info"));
  live.setSeverity(route.query.get("severity") === "debug" ? "debug" : "info");

  const answer = await get(["events"], only ? { bridge: only } : {}, signal);
  const newer = new Set(answer.events.map((event) => event.number));
  all = [...all.filter((event) => !newer.has(event.number)), ...answer.events.reverse()];
  draw();
}

// Number of events over time, from the oldest to now; the colour is that of the worst, and errors have a mark at the top.
function strip(events) {
  if (events.length < 2) return nothing;
  const oldest = Date.parse(events.at(-1).time);
  const step = Math.max(1000, (Date.now() - oldest) / BARS);
  const bars = Array.from({ length: BARS }, () => ({ number: 0, worst: 0 }));
  for (const { time, severity } of events) {
    const bar = bars[Math.min(BARS - 1, Math.floor((Date.parse(time) - oldest) / step))];
    bar.number += 1;
    bar.worst = Math.max(bar.worst, SEVERITIES.indexOf(severity));
  }
  const most = Math.log1p(Math.max(...bars.map((own) => own.number)));
  const height = (own) => Math.round((20 * Math.log1p(own.number)) / most);
  return html`<svg viewBox="0 0 ${BARS * 10} 28" preserveAspectRatio="none" role="img" aria-label="${plural(events.length, "event")} since ${clock(events.at(-1).time)}">${bars.map((own, at) => svg`<rect class=${SEVERITIES[own.worst]} x=${at * 10} y=${28 - height(own)} width="9" height=${height(own)}></rect>
      ${SEVERITIES[own.worst] === "error" ? svg`<rect class="error" x=${at * 10 + 2} y="0" width="5" height="5"></rect>` : nothing}`)}</svg>
    <div class="quiet ends"><span>${ago(events.at(-1).time)}</span><span>now</span></div>`;
}
