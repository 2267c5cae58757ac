// The map at another time: the last minutes from the log of events, and the minutes that follow a change
// from the prediction.  Each step is one instant with its changes.
//
// The past is the present with later changes undone; the future has the predicted ones applied.

import { get } from "./api.js";
import { missingCables } from "./drawing.js";
import { html, nothing, render } from "./lit.js";
import { ask, seconds, sentences } from "./whatif.js";
import { age, clock, count, plural, vlanText } from "./words.js";

const BACK = "10m";
const KINDS = "stp.state,stp.role,stp.root,stp.topology-change,port.up,port.down,bridge.connected,bridge.disconnected";
const SAME = 0.02; // seconds between changes of one instant
const SHOWN = 60; // sentences of an instant

// What an event of the log changes: [key, field, old, new].  key: datapath id, with /port for a port
function effects({ kind, datapath_id: id, port, data }) {
  const at = `${id}/${data.port_name ?? port}`;
  if (kind === "stp.state") return [[at, "state", data.old, data.new]];
  if (kind === "stp.role") return [[at, "role", data.old, data.new]];
  if (kind === "stp.root") return [[id, "root", data.old, data.new]];
  if (kind === "port.up" || kind === "port.down") return [[at, "down", kind === "port.up", kind === "port.down"]];
  if (kind.startsWith("bridge.")) return [[id, "connected", kind !== "bridge.connected", kind === "bridge.connected"]];
  return [];
}

// Changes of the log: [{at: seconds, effects, text, bad}]
export function logged(events, names, now) {
  return events.map((own) => ({
    at: (Date.parse(own.time) - now) / 1000,
    effects: effects(own), text: `${names.get(own.datapath_id) ?? own.datapath_id}: ${own.message}`, bad: own.severity === "error",
  }));
}

// Changes of a prediction in the same form
export function predicted(answer) {
  const port = (own) => `${own.datapath_id}/${own.port}`;
  const found = answer.events.map((own) => ({ at: own.at, effects: effects(own), text: `${own.bridge}: ${own.message}`, bad: own.severity === "error" }));
  for (const own of answer.changes) {
    const off = own.reason === "the switch is off";
    const changed = [[port(own), "state", own.old ?? "discarding", own.new ?? "discarding"]];
    if (own.new === null || own.old === null) changed.push([port(own), "down", own.old === null, own.new === null]);
    if (off) changed.push([own.datapath_id, "connected", true, false]);
    found.push({ at: own.at, effects: changed, text: off ? `${own.bridge}: the switch is off` : "", bad: off });
  }
  for (const own of answer.flushed) {
    if (own.addresses) found.push({ at: own.at, effects: [[port(own), "learned", own.addresses, 0]], text: `${own.bridge}: ${plural(own.addresses, "address", "addresses")} of port ${own.port} forgotten` });
  }
  const reached = new Map();
  for (const own of answer.cut_off) {
    for (const [at, what] of [[own.since, "do not reach each other"], [own.seconds === null ? null : own.since + own.seconds, "reach each other again"]]) {
      if (at !== null) reached.set(`${at} ${what}`, [...(reached.get(`${at} ${what}`) ?? []), `${own.a} and ${own.b}`]);
    }
  }
  for (const [key, pairs] of reached) {
    const [at, ...what] = key.split(" ");
    const more = pairs.length > 3 ? ` and ${count(pairs.length - 3)} more pairs` : "";
    found.push({ at: Number(at), effects: [], text: `hosts of ${pairs.slice(0, 3).join(", ")}${more} ${what.join(" ")}`, bad: !key.endsWith("again") });
  }
  for (const own of [...answer.silent, ...answer.loops]) {
    const [of, bad, good] = own.port === undefined ? ["", "a loop: broadcasts circle", "the loop ends"] : [`${own.bridge}: port ${own.port} with ${plural(own.hosts, "host")} `, "does not forward", "forwards"];
    const end = own.seconds === null ? [] : [[own.since + own.seconds, good, false]];
    for (const [at, what, isBad] of [[own.since, bad, true], ...end]) found.push({ at, effects: [], text: `${of}${what}, ${vlanText(own.vlan)}`, bad: isBad });
  }
  for (const own of answer.storms) found.push({ at: 0, effects: [], text: `${own.bridge}: ${count(own.rate)} broadcasts a second leave by port ${own.port}`, bad: true });
  return found;
}

// Changes as instants in their order: [{at, changes}]
export function instants(changes) {
  const found = [];
  for (const own of [...changes].sort((one, other) => one.at - other.at)) {
    const last = found.at(-1);
    if (last && own.at - last.at <= (own.at < 0 ? SAME : 0)) last.changes.push(own);
    else found.push({ at: own.at, changes: [own] });
  }
  return found;
}

// Values that differ from the present after the instants up to `step`: Map key -> {field: value}
function values(steps, step, past) {
  const found = new Map();
  const set = (key, field, value) => found.set(key, { ...found.get(key), [field]: value });
  const all = (some) => some.flatMap((own) => own.changes.flatMap((one) => one.effects));
  if (past) {
    const undone = all(steps.slice(step + 1).filter(({ at }) => at < 0)).reverse();
    for (const [key, field, old] of undone) set(key, field, old);
  } else {
    const done = all(steps.slice(0, step + 1).filter(({ at }) => at >= 0));
    for (const [key, field, , now] of done) set(key, field, now);
  }
  return found;
}

const digits = (id) => id.replace(/[^0-9a-f]/g, "").slice(-12);
const keyOf = ({ datapath_id: id, port }) => `${id}/${port.name}`;

// The link of a cable that is missing now: it was there.
function lost({ ends }) {
  const [a, b] = ends.map(([id, name]) => ({ datapath_id: id, port: { name, number: null }, connected: true }));
  return { a, b, stp: {}, lag: null, source: "log", gone: true };
}

// One end in spanning tree; its port's values may differ from the present.
function tree(now, then) {
  if (!then?.state && !then?.role) return now;
  return { role: then.role ?? now?.role ?? "disabled", state: then.state ?? now?.state ?? "disabled" };
}

// The network of a snapshot after the instants up to `step`; -1: before the first one.
export function network({ bridges: all, map, problems }, steps, step) {
  const past = steps[step + 1]?.at < 0; // what comes next has happened already
  const then = values(steps, step, past);
  const fresh = new Set((steps[step]?.changes ?? []).flatMap((own) => own.effects.map(([key]) => key)));
  const links = [...map.links, ...missingCables(problems).map(lost)].map((own) => {
    const [a, b] = [own.a, own.b].map((end) => then.get(keyOf(end)));
    const end = (of) => ({ ...of, connected: then.get(of.datapath_id)?.connected ?? of.connected });
    const down = own.gone ? a?.down !== false || b?.down !== false : Boolean(a?.down || b?.down);
    const changed = fresh.has(keyOf(own.a)) || fresh.has(keyOf(own.b));
    return { ...own, a: end(own.a), b: end(own.b), stp: { a: tree(own.stp?.a, a), b: tree(own.stp?.b, b) }, down, changed };
  }).filter((own) => !own.gone || !own.down);
  const back = new Set(links.filter((own) => own.gone).map(({ a }) => keyOf(a)));
  const stays = (own) => missingCables([own]).some(({ ends }) => !back.has(ends[0].join("/")));
  const learned = ({ datapath_id: id, fdb }) => Object.entries(fdb.learned_by_port).map(([port, number]) => [port, then.get(`${id}/${port}`)?.learned ?? number]);
  return {
    atOther: true,
    bridges: past ? [] : all.map((own) => ({ ...own, fdb: { ...own.fdb, learned_by_port: Object.fromEntries(learned(own)) } })),
    problems: past ? problems.filter(stays) : problems,
    map: {
      ...map, links,
      bridges: map.bridges.map((own) => {
        const { root, connected } = then.get(own.datapath_id) ?? {};
        const present = connected ?? own.connected;
        const isRoot = root && own.bridge_id ? digits(root) === digits(own.bridge_id) : own.root;
        return { ...own, connected: present, root: present && isRoot, above: own.root, changed: fresh.has(own.datapath_id) };
      }),
    },
  };
}

export class Timeline {
  // changed(): the map shows another time
  constructor(place, { signal, changed }) {
    Object.assign(this, { place, signal, changed, taken: null, answer: null, steps: [], at: null });
  }

  // The present if the slider is there, else the network of the chosen time.
  seen(state) {
    return this.at === null ? state : { ...state, ...network(this.taken, this.steps, this.at - 1), loads: null };
  }

  // Read the last minutes, and (question) ask for the next ones.
  async open(problems, question = null) {
    render(html`<p class="quiet" role="status">${question ? "A copy of the network is asked…" : "Loading…"}</p>`, this.place);
    try {
      const [log, { bridges: all }, map, answer] = await Promise.all([get(["events"], { since: BACK, kind: KINDS }, this.signal), get(["bridges"], {}, this.signal), get(["topology"], {}, this.signal), question && ask(question, this.signal)]);
      const now = Date.now();
      const names = new Map(map.bridges.map((own) => [own.datapath_id, own.name]));
      const past = instants(logged(log.events.filter((own) => own.datapath_id), names, now)).map((own) => ({ ...own, at: Math.min(own.at, -0.001) }));
      Object.assign(this, { taken: { bridges: all, map, problems, now, missed: log.missed, log: past.length }, answer, steps: [...past, ...instants(answer ? predicted(answer) : [])] });
      this.move(answer ? past.length + 1 : null);
    } catch (error) {
      if (!this.signal.aborted) render(html`<p class="problem" role="alert">${error.message}</p>`, this.place);
    }
  }

  close() {
    Object.assign(this, { taken: null, answer: null, steps: [], at: null });
    render(nothing, this.place);
    this.changed();
  }

  // at: how many instants have passed; null: the present
  move(at) {
    const { log } = this.taken;
    this.at = at === null || at === log ? null : Math.max(0, Math.min(at, this.steps.length));
    this.draw();
    this.changed();
  }

  draw() {
    const { taken, steps, answer } = this;
    const at = this.at ?? taken.log;
    const own = this.at === null ? null : steps[at - 1];
    const changes = own?.changes.filter(({ text }, place) => text && own.changes.findIndex((one) => one.text === text) === place) ?? [];
    const shown = changes.slice(0, SHOWN);
    const past = this.at !== null && this.at < taken.log;
    const when = this.at === null ? "now" : !own ? "before the first change that is known" : own.at < 0 ? `${clock(taken.now + own.at * 1000)}, ${age(-own.at)} ago` : `predicted, ${seconds(own.at)} after the change`;
    const outcome = answer && (sentences(answer).bad.length ? "In all, hosts are cut off or there is a loop." : "In all, no host is cut off.");
    render(
      html`<section class="time-line" aria-label="Time">
        <div class="filters">
          <button @click=${() => this.move(at - 1)} ?disabled=${at === 0}>◀ Earlier</button>
          <input type="range" min="0" max=${steps.length} .value=${String(at)} aria-label="Time" aria-valuetext="${when}, ${plural(changes.length, "change")}"
            @input=${(event) => this.move(Number(event.target.value))}>
          <button @click=${() => this.move(at + 1)} ?disabled=${at === steps.length}>Later ▶</button>
          <button @click=${() => this.move(null)} ?disabled=${this.at === null}>Now</button>
        </div>
        <div class="moment" tabindex="0" role="group" aria-label="Changes at this time"><div role="status">
          <p><b>${when}</b> <span class="quiet">${plural(taken.log, "instant")} ${taken.missed ? "in the log" : "in the last 10 minutes"}${answer ? `, ${count(steps.length - taken.log)} predicted. ${outcome}` : "."}${past ? " Numbers of hosts are not kept." : ""}</span></p>
          <ul class="consequences">${shown.map(({ text, bad }) => html`<li class=${bad ? "bad" : ""}>${text}</li>`)}${changes.length > SHOWN ? html`<li class="quiet">and ${count(changes.length - SHOWN)} more</li>` : nothing}</ul>
        </div></div>
      </section>`,
      this.place,
    );
  }
}
