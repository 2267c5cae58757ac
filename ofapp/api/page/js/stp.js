// Spanning tree of a switch: parameters, received information, and the reason for each port's state.

import { get } from "./api.js";
import { recover } from "./actions.js";
import { html, nothing } from "./lit.js";
import { session } from "./session.js";
import { polled } from "./tab.js";
import { age, count, facts, roleBadge, stateBadge } from "./words.js";

const SECONDS = 5;

export function tab(place, context) {
  const { id, signal } = context;
  return polled(place, context, SECONDS, async (after) => {
    const stp = await get(["bridges", id, "stp"], {}, signal);
    return page(stp, { ...context, after });
  });
}

function page(stp, context) {
  if (!stp.enabled) {
    return html`<p class="quiet">This bridge runs no spanning tree: a loop of its links is not cut. It is turned on in the
      configuration file (<code>stp: {enabled: true}</code>) or by <code>ofapp stp set ${stp.bridge} enabled=true</code>.</p>${ports(stp, context)}`;
  }
  if (stp.bridge_id === null) return html`<p class="quiet">The switch is disconnected: spanning tree waits for it.</p>${ports(stp, context)}`;
  const { topology_change: change, root_times: times } = stp;
  const root = stp.root_port === null;
  return html`${facts([
      ["bridge id", html`<code>${stp.bridge_id}</code>`],
      ["root", root ? html`<b>this switch</b>` : html`<code>${stp.root_id}</code>`],
      ["root path cost", root ? null : count(stp.root_path_cost)],
      ["root port", root ? null : stp.root_port.name],
      ["hello, max age, forward delay", times ? `${times.hello_time} s, ${times.max_age} s, ${times.forward_delay} s` : null],
      ["topology changes", `${count(change.count)}${change.since === null ? "" : `, the last ${age(change.since)} ago`}${change.port ? ` on ${change.port.name}` : ""}${change.active ? " (in progress)" : ""}`],
      ["priority", stp.parameters.priority],
    ])}
    ${ports(stp, context)}`;
}

function ports(stp, context) {
  const may = session.may("operator");
  return html`<div class="scroll" role="region" aria-label="Ports in spanning tree" tabindex="0"><table class="tall">
    <thead><tr>${["Port", "Role", "State", "Why", "Cost", "Designated bridge and port", "BPDUs in / out", "Edge", "Timers"].map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
    <tbody>${stp.ports.map((port) => html`<tr>
      <th scope="row">${port.name}</th>
      <td>${port.port_id ? roleBadge(port.role) : "–"}</td>
      <td>${stateBadge(!stp.connected ? "disconnected" : port.up ? port.state : "disabled")}</td>
      <td class="why">${port.reason}${guards(port, stp, context, may)}${refused(port.drops)}</td>
      <td class="number">${count(port.path_cost)}</td>
      <td class="code">${port.designated ? html`${port.designated.bridge} ${port.designated.port}` : "–"}</td>
      <td class="number">${sum(port.received)} / ${sum(port.sent)}${port.sends === "stp" ? html` <b class="warn">speaks STP</b>` : nothing}</td>
      <td>${port.edge.oper ? "edge" : ""}</td>
      <td>${Object.entries(port.timers).filter(([name]) => name !== "helloWhen").map(([name, left]) => `${name} ${age(left)}`).join(", ")}</td>
    </tr>`)}</tbody></table></div>`;
}

const sum = (counts) => count(Object.values(counts).reduce((all, own) => all + own, 0));

function guards(port, stp, context, may) {
  if (!port.guards.length) return nothing;
  const about = { ...context, port, ports: stp.ports, stp: port };
  return html`<p><b class="bad">⚠ ${port.guards.join(", ")}</b>
    ${may ? html`<button class="small" @click=${() => recover(about)}>Free…</button>` : nothing}</p>`;
}

function refused(drops) {
  const some = Object.entries(drops).filter(([, number]) => number);
  return some.length ? html`<p class="quiet">ignored: ${some.map(([why, number]) => `${count(number)} ${why.replaceAll("_", " ")}`).join(", ")}</p>` : nothing;
}
