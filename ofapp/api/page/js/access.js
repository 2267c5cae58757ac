// Who may use the ports of a switch: hosts of controlled ports, ports that loop protection holds,
// and ports whose links are one-way.

import { get } from "./api.js";
import { authenticate, forgetHost, openLink, openPort } from "./actions.js";
import { html, nothing } from "./lit.js";
import { link } from "./router.js";
import { session } from "./session.js";
import { polled } from "./tab.js";
import { age, ago, count, facts, plural, vlanText } from "./words.js";

const SECONDS = 5;
// Rows of hosts: those that are not authorised come first.
const MOST = 200;

const METHODS = {
  dot1x: "802.1X",
  mab: "MAC address",
  guest: "guest VLAN",
  auth_fail: "VLAN for refused hosts",
  critical: "VLAN while no server answers",
};

export function tab(place, context) {
  const { id, signal } = context;
  return polled(place, context, SECONDS, async (after) => {
    const [access, loops, lldp] = await Promise.all(
      ["port-access", "loop-protect", "lldp"].map((part) => get(["bridges", id, part], {}, signal)),
    );
    const own = { ...context, after, may: session.may("operator") };
    return html`${authentication(access, own)}${protection(loops, own)}${oneWay(lldp, own)}`;
  });
}

function authentication(access, context) {
  if (!access.enabled) {
    return html`<section><h2>Authentication</h2><p class="quiet">Each host may use each port: port access control is off. It is turned on in the
      configuration file, under <code>port_access</code>.</p></section>`;
  }
  const authorised = access.hosts.filter((host) => host.authorised).length;
  const waiting = access.ports.reduce((all, port) => all + port.waiting, 0);
  return html`<section><h2>Authentication</h2>
    ${access.dead.length ? html`<p class="problem">✖ No answer from ${access.dead.join(", ")}</p>` : nothing}
    ${facts([
      ["RADIUS servers", access.parameters.servers || "none"],
      ["hosts", `${count(authorised)} of ${count(access.hosts.length)} authorised`],
      ["waiting for their question", waiting ? count(waiting) : null],
      ["accepted / rejected", `${count(access.servers.accept ?? 0)} / ${count(access.servers.reject ?? 0)}`],
      ["requests without answer", access.servers.silent ? count(access.servers.silent) : null],
    ])}
    ${access.ports.length ? html`${hosts(access.hosts, context)}${ports(access.ports, context)}` : html`<p class="quiet">No port that is up is controlled.</p>`}</section>`;
}

function hosts(all, context) {
  if (!all.length) return html`<p class="quiet">No host has sent a frame yet.</p>`;
  const sorted = [...all].sort((one, other) => one.authorised - other.authorised);
  return html`<div class="scroll" role="region" aria-label="Hosts of controlled ports" tabindex="0"><table class="tall">
    <thead><tr>${["Host", "Port", "State", "By", "VLAN", "Since", "Next"].map((title) => html`<th scope="col">${title}</th>`)}${context.may ? html`<th scope="col">Change</th>` : nothing}</tr></thead>
    <tbody>${sorted.slice(0, MOST).map((host) => row(host, context))}</tbody></table></div>
    ${all.length > MOST ? html`<p class="quiet">${plural(all.length - MOST, "further host")}: <code>ofapp auth show ${context.bridge.name}</code></p>` : nothing}`;
}

function row(host, context) {
  return html`<tr>
    <th scope="row">${host.user && host.method !== "mab" ? html`<bdi>${host.user}</bdi><br>` : nothing}<a href=${link(["search"], { q: host.mac })}><code>${host.mac}</code></a></th>
    <td>${portLink(host.port, context)}</td>
    <td class="why">${badge(host)}${host.why ? html` ${host.why}` : nothing}${host.authorised && host.reply_message ? html`<br><q>${host.reply_message}</q>` : nothing}</td>
    <td>${METHODS[host.method] ?? host.method}</td>
    <td>${!host.authorised ? "–" : host.vlan === null ? "of the port" : vlanText(host.vlan)}${rights(host)}</td>
    <td>${ago(host.since)}</td>
    <td>${host.seconds_left === null ? "never" : `in ${age(host.seconds_left)}`}</td>
    ${context.may ? html`<td>${host.authorised ? html`<button class="small" @click=${() => authenticate({ ...context, host })}>Authenticate again…</button> ` : nothing}<button class="small" @click=${() => forgetHost({ ...context, host })}>Clear…</button></td>` : nothing}
  </tr>`;
}

function badge(host) {
  if (host.authorised) return html`<span class="badge forwarding"><span aria-hidden="true">●</span> authorised</span>`;
  if (host.phase === "held") return html`<b class="bad"><span aria-hidden="true">✕</span> not authorised</b>`;
  return html`<span class="badge learning"><span aria-hidden="true">◐</span> ${host.phase}</span>`;
}

function rights(host) {
  const said = [
    host.tagged.length && `tagged ${host.tagged.join(", ")}`,
    host.untagged.length && `untagged ${host.untagged.join(", ")}`,
    host.acl && `access list ${host.acl}`,
    host.rate_in !== null && `${count(host.rate_in)} kbit/s in`,
    host.rate_out !== null && `${count(host.rate_out)} kbit/s out`,
  ].filter(Boolean);
  return said.length ? html`<br>${said.join("; ")}` : nothing;
}

function ports(all, context) {
  return html`<h3>Controlled ports</h3><div class="scroll" role="region" aria-label="Controlled ports" tabindex="0"><table class="tall">
    <thead><tr>${["Port", "Authentication", "Hosts", "Limits"].map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
    <tbody>${all.map((port) => html`<tr><th scope="row">${portLink(port.port, context)}</th>
      <td>${port.authentication}, ${port.host_mode}</td>
      <td>${count(port.authorised)} of ${count(port.hosts)} authorised</td>
      <td class="why">${port.full ? html`<b class="warn">further hosts are refused</b> ` : nothing}${port.waiting ? html`<b class="warn">${plural(port.waiting, "host")} waiting for RADIUS</b>` : nothing}</td></tr>`)}</tbody></table></div>`;
}

function protection(loops, context) {
  const held = loops.ports.filter((port) => port.held);
  const sends = loops.ports.filter((port) => port.sends).length;
  return html`<section><h2>Loops behind edge ports</h2>${!loops.enabled
    ? html`<p class="quiet">Loop protection is off. It is turned on in the configuration file (<code>loop_protect: {enabled: true}</code>).</p>`
    : held.length
      ? html`<ul class="list">${held.map((port) => html`<li><b class="bad">✕ ${portLink(port.name, context)} is held</b>: its frames come back ${port.held.other === port.name ? "by the same port" : html`by ${portLink(port.held.other, context)}`}${port.held.vlan ? ` in VLAN ${port.held.vlan}` : ""}. It opens in ${age(port.held.left)} if no further frame comes back.
          ${context.may ? html`<button class="small" @click=${() => openPort({ ...context, port })}>Open now…</button>` : nothing}</li>`)}</ul>`
      : html`<p class="quiet">No port is held; ${plural(sends, "edge port")} checked.</p>`}</section>`;
}

// The end that hears its neighbour finds the fault. The other end of the link hears nothing.
function oneWay(lldp, context) {
  const faulty = lldp.ports.filter((port) => port.one_way);
  const heard = lldp.ports.filter((port) => port.heard).length;
  return html`<section><h2>Links in one direction</h2>${!lldp.enabled
    ? html`<p class="quiet">LLDP finds links that pass frames in one direction alone, and is off. It is turned on in the configuration file (<code>lldp: {enabled: true}</code>).</p>`
    : faulty.length
      ? html`<ul class="list">${faulty.map((port) => html`<li>${fault(port, context)}: ${port.one_way.hears ? `${port.one_way.neighbour} does not hear it` : `it does not hear ${port.one_way.neighbour}`}. Replace the cable or the transceivers.
          ${context.may && port.one_way.state === "held" ? html`<button class="small" @click=${() => openLink({ ...context, port })}>Open now…</button>` : nothing}</li>`)}</ul>`
      : html`<p class="quiet">No port is closed or suspected; the neighbours of ${plural(heard, "port")} hear it.</p>`}</section>`;
}

function fault(port, context) {
  return port.one_way.state === "held"
    ? html`<b class="bad">✕ ${portLink(port.name, context)} is closed</b>`
    : html`<b class="warn">${portLink(port.name, context)} stays open</b>`;
}

const portLink = (name, { id }) => html`<a href=${link(["bridge", id, "ports"], { port: name })}>${name}</a>`;
