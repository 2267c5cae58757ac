// The first view: what is wrong, since when, and what to do; then what has changed in the last hour.

import { put, remove } from "./api.js";
import { confirm } from "./confirm.js";
import { grouped } from "./groups.js";
import { html, nothing, render, repeat } from "./lit.js";
import { live } from "./live.js";
import { bridges, hostCount, SHARED, shared, topology } from "./network.js";
import { notify } from "./notices.js";
import { calmly, every } from "./poll.js";
import { link } from "./router.js";
import { session } from "./session.js";
import { SHAPES, standing } from "./standing.js";
import { ago, bits, clock, plural } from "./words.js";

export const title = "Problems";

const SECONDS = 15; // between requests about the network; an event causes one at once
const MOST = 12; // groups of events that are listed
const NO_CHANGE = /^(problem|learning|events|audit|bridge[.]configured|stp[.]topology-change)\b/; // repeats another event, or is no change

export async function show(place, route, signal) {
  const state = { network: null, groups: [], loads: [], failed: "" };
  const draw = () => signal.aborted || render(page(state), place);
  standing.watch(draw, signal);
  draw();
  const look = every(
    SECONDS,
    async () => {
      const [known, map, { events }, { loads }] = await Promise.all([
        bridges(signal), topology(signal), shared(["events"], { since: "1h", severity: "info" }, signal), shared(["load"], {}, signal),
      ]);
      const names = new Map(known.map((own) => [own.datapath_id, own.name]));
      const changes = events.filter((event) => !NO_CHANGE.test(event.kind)).reverse();
      Object.assign(state, { network: { bridges: known, map, names }, loads, groups: grouped(changes), failed: "" });
      draw();
    },
    signal,
    (error) => {
      state.failed = error.message;
      draw();
    },
  );
  const soon = calmly(look, SHARED, signal);
  live.hear(() => soon(), signal);
  const minute = setInterval(draw, 20000); // ages
  signal.addEventListener("abort", () => clearInterval(minute));
}

function page(state) {
  const { problems, open } = standing;
  const failed = standing.failed || state.failed;
  const seen = (problems ?? []).filter((own) => own.acknowledged !== null);
  return html`${failed ? html`<p class="problem" role="alert">${failed}</p>` : nothing}
    ${problems === null ? html`<h1>Problems</h1><p class="quiet">Loading…</p>` : html`
      <h1>${open.length ? plural(open.length, "problem") : "No problems"}</h1>
      <p class="summary" role="status">${summary(state)}</p>
      ${standing.silent.length ? html`<p class="warn">⚠ No answer from ${standing.silent.join(", ")}: problems there are not listed.</p>` : nothing}
      ${open.length ? html`<ul class="list standing-list" aria-label="Problems">${repeat(open, (own) => own.id, item)}</ul>` : nothing}
      ${standing.leftOut ? html`<p class="warn">${plural(standing.leftOut, "further problem")} of the same kinds: <code>ofapp problems</code> counts them.</p>` : nothing}
      ${seen.length ? html`<details class="seen"><summary>${plural(seen.length, "acknowledged problem")}</summary>
        <ul class="list standing-list">${repeat(seen, (own) => own.id, item)}</ul></details>` : nothing}`}
    <div class="columns">
      <section class="changes"><h2>Changes of the last hour</h2>${changes(state)}</section>
      <section><h2>Load of the last hour</h2>${load(state)}</section>
    </div>`;
}

// 12 switches, 21 links, 216 hosts; last change 4 min ago: ...
function summary({ network, groups }) {
  if (!network) return "";
  const { bridges: known, map } = network;
  const [last] = groups;
  return html`${plural(known.length, "switch", "switches")}, ${plural(map.links.length, "link")}, ${plural(hostCount(known, map), "host")}${last
    ? html`; last change ${ago(last.latest.time)}: ${of(last.latest, network.names)}${last.latest.message}`
    : "; no change in the last hour"}.`;
}

const of = ({ datapath_id: id }, names) => (id ? `${names.get(id) ?? id}: ` : "");

function item(problem) {
  const { id, severity, datapath_id: dpid, bridge, port, message, advice, remedy, since, acknowledged } = problem;
  return html`<li class="card standing-item ${severity}">
    <p class="sentence"><span class="severity ${severity}"><span aria-hidden="true">${SHAPES[severity]}</span> ${severity}</span> <b>${dpid ? `${bridge}: ` : ""}${message}</b></p>
    <p class="quiet">${dpid ? html`<a href=${link(["bridge", dpid])}>${bridge}</a>` : "controller"}${dpid && port ? html`, port <a href=${link(["bridge", dpid, "ports"], { port })}>${port}</a>` : nothing},
      since <time datetime=${since}>${clock(since)}</time> (${ago(since)})${dpid ? html` · <a href=${link(["map"], { select: dpid })}>show on the map</a>` : nothing}</p>
    <p>${advice}</p>
    ${acknowledged ? html`<p class="quiet">Acknowledged by ${acknowledged.by} ${ago(acknowledged.at)}${acknowledged.comment ? html`: ${acknowledged.comment}` : nothing}</p>` : nothing}
    <p class="remedy">${remedy ? html`<code>${remedy}</code> <button class="small" @click=${(event) => copy(event, remedy)} aria-label="Copy the command ${remedy}">Copy</button>` : nothing}
      ${!session.may("operator") ? nothing : acknowledged
        ? html`<button class="small" @click=${() => takeBack(id)}>Take the acknowledgement back</button>`
        : html`<button class="small" @click=${() => acknowledge(problem)}>Acknowledge…</button>`}</p>
  </li>`;
}

async function copy(event, text) {
  // The clipboard is for pages over TLS and of this host; elsewhere the text is selected and copied.
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else {
      getSelection().selectAllChildren(event.target.parentNode.querySelector("code"));
      document.execCommand("copy");
    }
    notify("The command is copied.");
  } catch {
    notify("The browser does not allow copying: select the command instead.", "problem");
  }
}

async function acknowledge({ id, message }) {
  await confirm({
    title: "Acknowledge this problem?",
    fields: html`<p class="fields"><label>Comment <input name="comment" maxlength="500" autocomplete="off"></label></p>`,
    says: [message, "It stays listed below the others and is no longer counted, until it ends."],
    verb: "Acknowledge",
    act: async (given) => {
      await put(["problems", id, "acknowledgement"], { comment: given.get("comment").trim() });
      return "The problem is acknowledged.";
    },
  });
  standing.look();
}

async function takeBack(id) {
  await remove(["problems", id, "acknowledgement"]).catch((error) => notify(error.message, "problem"));
  standing.look();
}

// The busiest ports; both ends of a link are ports.
function load({ loads, network }) {
  if (!network) return html`<p class="quiet">Loading…</p>`;
  if (!loads.length) return html`<p class="quiet">The controller reads all counters once a minute: the first values come within two minutes.</p>`;
  return html`<div class="scroll"><table class="tall" aria-label="Ports with most traffic, mean of the last hour">
    <thead><tr><th scope="col">Port</th><th scope="col" class="number">In</th><th scope="col" class="number">Out</th><th scope="col" class="number">Used</th></tr></thead>
    <tbody>${loads.map((own) => html`<tr><th scope="row"><a href=${link(["bridge", own.datapath_id, "ports"], { port: own.port.number })}>${own.bridge} ${own.port.name}</a></th>
      <td class="number">${bits(own.rx_bytes)}</td><td class="number">${bits(own.tx_bytes)}</td><td class="number">${used(own)}</td></tr>`)}</tbody></table></div>`;
}

const used = ({ rx_bytes: rx, tx_bytes: tx, speed_mbps: mbps }) => (mbps ? `${Math.round((Math.max(rx, tx) * 800) / (mbps * 1e6))} %` : "–");

function changes({ groups, network }) {
  if (!network) return html`<p class="quiet">Loading…</p>`;
  if (!groups.length) return html`<p class="quiet">Nothing has changed.</p>`;
  return html`<ul class="list change-list">${groups.slice(0, MOST).map(({ latest, events }) => html`<li>
      <time class="code" datetime=${latest.time}>${clock(latest.time)}</time>
      <span class="severity ${latest.severity}" aria-label=${latest.severity}>${SHAPES[latest.severity]}</span>
      <span>${latest.datapath_id ? html`<a href=${link(["bridge", latest.datapath_id, "events"])}>${network.names.get(latest.datapath_id) ?? latest.datapath_id}</a>: ` : nothing}${latest.message}
        ${events.length > 1 ? html`<a class="quiet" href=${link(["events"], { kind: latest.kind })}>and ${plural(events.length - 1, "more like it", "more like it")}</a>` : nothing}</span></li>`)}</ul>
    <p><a href=${link(["events"])}>All events</a></p>`;
}
