// The last events, and each new one as it happens.

import { get } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { notify } from "./notices.js";
import { amend, link } from "./router.js";
import { Table } from "./table.js";
import { clock, count } from "./words.js";

export const title = "Events";

const KEPT = 5000;
const SHAPES = { error: "✖", warning: "⚠", info: "●", debug: "·" };
const SEVERITIES = ["debug", "info", "warning", "error"];
const FILTERS = ["kind", "bridge", "severity", "text"];

export async function show(place, route, signal) {
  const { bridges } = await get(["bridges"], {}, signal);
  return events(place, route, signal, new Map(bridges.map((own) => [own.datapath_id, own.name])), null);
}

export async function tab(place, { bridge, route, signal }) {
  await events(place, route, signal, new Map([[bridge.datapath_id, bridge.name]]), bridge.datapath_id);
}

async function events(place, route, signal, names, only) {
  render(html`${only ? nothing : html`<h1>Events</h1>`}<div class="bar"></div><div class="about" role="status"></div><div class="rows"></div>`, place);
  let all = []; // newest first
  let halted = false;
  let waiting = [];
  let soon = false;
  const filter = () => Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? ""]));

  const table = new Table(place.querySelector(".rows"), {
    label: "Events, the newest first",
    key: (event) => event.number,
    columns: [
      { name: "time", title: "Time", width: 12, kind: "code", cell: (event) => html`<time datetime=${event.time}>${clock(event.time)}</time>` },
      { name: "severity", title: "Severity", width: 10, cell: (event) => html`<span class="severity ${event.severity}"><span aria-hidden="true">${SHAPES[event.severity]}</span> ${event.severity}</span>` },
      ...(only ? [] : [{ name: "bridge", title: "Switch", width: 16, cell: (event) => (event.datapath_id ? html`<a href=${link(["bridge", event.datapath_id])}>${names.get(event.datapath_id) ?? event.datapath_id}</a>` : "") }]),
      { name: "kind", title: "Kind", width: 22, kind: "code", cell: (event) => html`<button class="plain" title="What it means" @click=${() => explain(event.kind)}>${event.kind}</button>` },
      { name: "message", title: "What", width: 90, cell: (event) => html`<span title=${event.message}>${event.message}</span>` },
    ],
    empty: "No event fits. What happens from now on appears here.",
  });

  const fits = (event, { kind, bridge, severity, text }) =>
    SEVERITIES.indexOf(event.severity) >= SEVERITIES.indexOf(severity || "info") &&
    (!kind || kind.split(",").some((own) => `${event.kind}.`.startsWith(`${own.trim().replace(/\.$/, "")}.`))) &&
    (!(only ?? bridge) || event.datapath_id === (only ?? bridge)) &&
    (!text || event.message.toLowerCase().includes(text.toLowerCase()));

  function draw() {
    const given = filter();
    table.set(all.filter((event) => fits(event, given)));
    bar(given);
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
        <label>Text <input name="text" .value=${given.text} size="16" autocomplete="off"></label>
        <button type="button" aria-pressed=${halted} @click=${halt}>${halted ? `Go on (${count(waiting.length)} new)` : "Halt"}</button>
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

  function halt() {
    halted = !halted;
    if (!halted) take();
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
      if (!halted) take();
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
