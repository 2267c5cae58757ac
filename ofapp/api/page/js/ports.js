// The ports of a switch with live rates, and the details of one.

import { get, portText } from "./api.js";
import { editPort } from "./edit.js";
import { frontPanel } from "./front.js";
import { flush, portDown, portUp, recover } from "./actions.js";
import { html, nothing, render } from "./lit.js";
import { linksByPort, topology } from "./network.js";
import { every } from "./poll.js";
import { Rates } from "./rates.js";
import { amend, link } from "./router.js";
import { session } from "./session.js";
import { Table } from "./table.js";
import { aboutPort } from "./whatif.js";
import { bits, count, facts, linkBadge, plural, roleBadge, speed, stateBadge, vlanText } from "./words.js";

const SECONDS = 2; // between readings of the counters
const HISTORY = 60000; // milliseconds between readings of the history
const NO_HISTORY = { start: null, interval: 60, rx_bytes: [], tx_bytes: [], errors: [], drops: [] };
const LOCAL = 4294967294;
const IN_DETAIL = new Set(["vlan", "errors", "drops"]); // columns that give room to the details, which have the same

export async function tab(place, context) {
  render(
    html`<div class="front-place"></div><div class="split"><div class="rows"></div><aside class="detail" aria-label="Port"></aside></div>`,
    place,
  );
  const { id, signal, route } = context;
  const rates = new Rates();
  const state = { ports: [], stp: null, vlans: null, map: null, chosen: route.query.get("port"), detail: null, history: null, chart: null, problem: "", present: () => context.bridge.connected };
  const all = columns(state, rates, choose);
  const table = new Table(place.querySelector(".rows"), {
    label: "Ports",
    key: (port) => String(port.number),
    columns: all,
    empty: "This switch has no ports.",
  });

  const chosen = () =>
    state.ports.find((port) => String(port.number) === state.chosen) ??
    state.ports.find((port) => port.name === state.chosen);

  async function choose(port) {
    const number = String(port.number);
    state.chosen = state.chosen === number ? null : number;
    state.detail = state.history = null;
    amend(route, { port: state.chosen ?? "" });
    draw();
    await look();
  }

  async function draw() {
    const port = chosen();
    table.chosen = port ? String(port.number) : null;
    table.columns = port ? all.filter((column) => !IN_DETAIL.has(column.name)) : all;
    table.set(state.ports);
    const panel = { ports: state.ports, stp: state.stp, now: (number) => rates.now(number), connected: state.present(), chosen: port, choose };
    render(frontPanel(panel), place.querySelector(".front-place"));
    const aside = place.querySelector(".detail");
    aside.hidden = !port;
    if (!port) {
      state.chart?.close();
      state.chart = null;
      render(nothing, aside);
      return;
    }
    render(detail(port, state, context, () => choose(port), after), aside);
    const { Chart, series } = await import("./chart.js");
    const room = aside.querySelector(".chart");
    if (signal.aborted || !room) return;
    state.chart ??= new Chart(room);
    if (state.history) state.chart.show(series(state.history, rates.history(port.number)));
  }
  signal.addEventListener("abort", () => state.chart?.close());

  async function after() {
    await Promise.all([lookAtRest(), look()]);
    context.refresh();
  }

  // Counters come from the switch; the rest changes seldom, and is read again after events.
  async function lookAtRest() {
    const [stp, vlans, map] = await Promise.all([
      get(["bridges", id, "stp"], {}, signal),
      get(["bridges", id, "vlans"], {}, signal),
      topology(signal),
    ]);
    state.stp = new Map(stp.ports.map((port) => [port.number, port]));
    state.vlans = new Map(vlans.ports.map((own) => [own.port.number, own]));
    state.map = { links: linksByPort(map.links), names: new Map(map.bridges.map((own) => [own.datapath_id, own.name])), neighbours: map.neighbours };
  }

  // The list first: a switch needs seconds for the counters of hundreds of ports.
  table.set([], { whole: false, total: null });
  const [first] = await Promise.all([get(["bridges", id, "ports"], {}, signal), lookAtRest()]);
  state.ports = first.ports;
  draw();
  const look = every(
    SECONDS,
    async () => {
      const { ports } = await get(["bridges", id, "ports"], { counters: "true" }, signal);
      rates.take(ports);
      state.ports = ports;
      state.problem = "";
      const port = chosen();
      if (port) {
        const path = ["bridges", id, "ports", portText(port, ports)];
        state.detail = await get(path, {}, signal);
        if (Date.now() - (state.history?.read ?? 0) > HISTORY) {
          // A member of an aggregation has no history: the aggregation has.
          const found = await get([...path, "history"], {}, signal).catch(() => NO_HISTORY);
          state.history = { ...found, read: Date.now() };
        }
      }
      if (!signal.aborted) draw();
    },
    signal,
  );
  return { update: lookAtRest };
}

const number = (value) => (value === null ? null : value);

function columns(state, rates, choose) {
  const stp = (port) => state.stp?.get(port.number);
  const rate = (name) => (port) => rates.now(port.number)?.[name] ?? null;
  const errors = ({ counters }) => (counters ? (counters.rx_errors ?? 0) + (counters.tx_errors ?? 0) : null);
  const drops = ({ counters }) => (counters ? (counters.rx_dropped ?? 0) + (counters.tx_dropped ?? 0) : null);
  return [
    {
      name: "name", title: "Port", width: 16, line: 1, sort: (port) => port.name,
      cell: (port) => html`<button class="plain name" aria-expanded=${String(port.number) === state.chosen} @click=${() => choose(port)}>${port.name}</button>${lag(port)}`,
    },
    { name: "state", title: "State", width: 13, line: 1, sort: (port) => port.state, cell: (port) => stateBadge(!state.present() ? "disconnected" : port.up ? port.state : "no carrier") },
    { name: "role", title: "Role", width: 14, line: 2, sort: (port) => stp(port)?.role ?? "", cell: (port) => role(stp(port)) },
    { name: "vlan", title: "VLANs", width: 9, sort: (port) => vlans(state, port), cell: (port) => vlans(state, port) },
    { name: "rx", title: "In", width: 11, line: 2, kind: "number", sort: rate("rx"), cell: (port) => bits(number(rate("rx")(port))) },
    { name: "tx", title: "Out", width: 11, line: 2, kind: "number", sort: rate("tx"), cell: (port) => bits(number(rate("tx")(port))) },
    { name: "errors", title: "Errors", width: 9, kind: "number", sort: errors, cell: (port) => worry(errors(port)) },
    { name: "drops", title: "Drops", width: 9, kind: "number", sort: drops, cell: (port) => worry(drops(port)) },
    {
      name: "learned", title: "Learned", width: 10, kind: "number", sort: (port) => port.learned,
      cell: (port) => html`${count(port.learned)}${port.limit === null ? nothing : html` / ${count(port.limit)}`}${port.dropping ? html` <b class="bad">full</b>` : nothing}`,
    },
    { name: "rules", title: "Settings", width: 22, sort: (port) => rules(port, stp(port)).join(), cell: (port) => rules(port, stp(port)).join(", ") },
  ];
}

const lag = ({ lag: name, members }) => (name ? ` ⇉ ${name}` : members ? ` ⇉ ${[...members].sort().join(", ")}` : "");

function role(stp) {
  if (stp?.guards.length) return html`<b class="bad">⚠ ${stp.guards.join(", ")}</b>`;
  return stp?.port_id ? roleBadge(stp.role) : nothing;
}

// Settings of a port that block frames.
function rules(port, stp) {
  const own = stp?.parameters ?? {};
  const guards = ["bpdu_guard", "root_guard", "loop_guard"].filter((name) => own[name]);
  return [
    port.shutdown && "shut down", port.isolated && "isolated", port.locked && "locked",
    ...guards.map((name) => name.replace("_", " ")), port.acl && `list ${port.acl}`,
    port.trust !== "none" && port.trust,
  ].filter(Boolean);
}

const worry = (value) => (value ? html`<b class="warn">${count(value)}</b>` : count(value));

function vlans(state, port) {
  const own = state.vlans?.get(port.number);
  if (!own) return "";
  return own.mode === "access" ? `${own.pvid}` : own.mode === "trunk" ? `trunk ${own.vlans}` : "all";
}

// The same element as long as the same port is shown: it has the answer.
function asking(port, state, { id }, stp) {
  if (state.asking?.port !== port.number) state.asking = { port: port.number, place: aboutPort(id, port, Boolean(stp?.port_id), state.map.names) };
  return state.asking.place;
}

function detail(port, state, context, close, after) {
  const stp = state.stp?.get(port.number);
  const here = state.map?.links.get(`${context.bridge.datapath_id}/${port.number}`);
  const neighbours = (state.map?.neighbours ?? []).filter(
    (own) => own.datapath_id === context.bridge.datapath_id && own.port.number === port.number,
  );
  const other = here?.link[here.other];
  const shut = state.detail?.settings.shutdown === true;
  const about = { ...context, port, ports: state.ports, stp, far: other && `${state.map.names.get(other.datapath_id)} ${other.port.name}`, after };
  return html`<h2>${port.name} <button class="plain" aria-label="Close" @click=${close}>×</button></h2>
    <p>${linkBadge(port.up)} ${stateBadge(context.bridge.connected ? port.state : "disconnected")} ${stp?.port_id ? roleBadge(stp.role) : nothing}</p>
    ${stp ? html`<p>${stp.reason}</p>` : nothing}
    ${session.may("operator") && !port.lag
      ? html`<div class="buttons">
          <button ?disabled=${!state.detail} @click=${() => editPort({ ...about, settings: state.detail.settings })}>Change…</button>
          ${shut
            ? html`<button @click=${() => portUp(about)}>Bring up…</button>`
            : html`<button @click=${() => portDown(about)}>Take down…</button>`}
          <button @click=${() => flush(about)} ?disabled=${!port.learned}>Flush addresses…</button>
          ${stp?.guards.length ? html`<button @click=${() => recover(about)}>Free from ${stp.guards.join(", ")}…</button>` : nothing}
        </div>`
      : nothing}
    ${port.lag || port.number === LOCAL || !state.map ? nothing : asking(port, state, context, stp)}
    <div class="chart" role="group" aria-label="Traffic, errors and drops of ${port.name} in the last day; the table and the list below have the present figures."></div>
    ${facts([
      ["number", port.number === LOCAL ? "LOCAL" : port.number],
      ["MAC", html`<code>${port.mac}</code>`],
      ["leads to", other ? html`<a href=${link(["bridge", other.datapath_id, "ports"], { port: other.port.number })}>${state.map.names.get(other.datapath_id)} <code>${other.port.name}</code></a> (${here.link.source})` : null],
      ...neighbours.map((own) => ["neighbour", html`${own.lldp?.system_name ?? ""} <code>${own.chassis_id}</code> ${own.port_id ?? ""} <span class="quiet">${own.source}${own.lldp && !own.trusted ? ", as it says of itself" : ""}</span>`]),
      ...neighbours.filter((own) => own.lldp).flatMap((own) => [["it is", own.lldp.system_description], ["managed at", own.lldp.management_addresses.join(", ")]]),
      ["VLANs", vlans(state, port)],
      ["untagged frames", vlanOf(state.vlans?.get(port.number))],
      ["trust", trust(port, context.bridge)],
      ["link changes", count(port.link_changes)],
      ["shows unknown sources", `${count(port.packet_in_rate)} a second at most`],
      ["not learned for its limit", port.refused ? count(port.refused) : null],
      ...Object.entries(port.held_back).filter(([, held]) => held).map(([kind, held]) => [`held back: ${kind.replaceAll("_", " ")}`, count(held)]),
      ...counters(port.counters),
      ["addresses", html`<a href=${link(["bridge", context.bridge.datapath_id, "fdb"], { port: port.name })}>${plural(port.learned, "learned address", "learned addresses")}</a>`],
    ])}
    ${state.detail && Object.keys(state.detail.settings).length
      ? html`<h3>What differs from the defaults</h3><pre>${JSON.stringify(state.detail.settings, null, 2)}</pre>`
      : nothing}`;
}

const TRUST = {
  guest: "guest: its hosts may be hostile",
  learn: "learn: only reports what it would refuse",
  uplink: "uplink: routers and servers are here",
};

function trust(port, bridge) {
  if (port.trust === "none") return null;
  return html`<a href=${link(["bridge", bridge.datapath_id, "bindings"], { port: port.name })}>${TRUST[port.trust]}</a>`;
}

function vlanOf(own) {
  if (!own) return null;
  return own.pvid === null ? "are not let in" : own.mode === "transparent" ? null : `belong to ${vlanText(own.pvid)}`;
}

function counters(own) {
  if (!own) return [["counters", "not reported by the switch"]];
  const both = (what) => `${count(own[`rx_${what}`])} in, ${count(own[`tx_${what}`])} out`;
  return [["frames", both("frames")], ["bytes", both("bytes")], ["dropped", both("dropped")], ["errors", both("errors")]];
}
