// The front panel of a switch: its ports by number, with state, speed and load.

import { html, nothing } from "./lit.js";
import { bits, speed } from "./words.js";

const LOCAL = 4294967294;
const SIGNS = { forwarding: "●", learning: "◐", discarding: "–", disabled: "", shutdown: "⊘", fault: "✖" };

// Its state in the words of the legend: a shape and a colour.
export function jackState(port, stp, connected) {
  if (!connected) return "disconnected";
  if (stp?.guards.length) return "fault";
  if (port.shutdown) return "shutdown";
  return port.state;
}

// ports: of /v1/bridges/{dpid}/ports; stp: Map number -> port of spanning tree; now(number): {rx, tx} or null
export function frontPanel({ ports, stp, now, connected, chosen, choose }) {
  const shown = ports.filter((port) => port.number !== LOCAL && port.members === null);
  if (!shown.length) return nothing;
  return html`<div class="front" role="group" aria-label="Front panel: ports by number">${shown.map((port) => {
    const state = jackState(port, stp?.get(port.number), connected);
    const load = now(port.number);
    const part = load && port.speed_mbps ? Math.min(1, (Math.max(load.rx, load.tx) * 8) / (port.speed_mbps * 1e6)) : 0;
    const said = `${port.name}: ${WORDS[state] ?? state}${port.speed_mbps ? `, ${speed(port.speed_mbps)}` : ""}${load ? `, ${bits(load.rx)} in, ${bits(load.tx)} out` : ""}`;
    return html`<button class="plain jack ${state}" title=${said} aria-label="${port.number}, ${said}" aria-pressed=${port === chosen} @click=${() => choose(port)}>
      <b>${port.number}</b><span aria-hidden="true">${SIGNS[state] ?? ""} ${short(port.speed_mbps)}</span>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.round(100 * part)} height="4"></rect></svg></button>`;
  })}</div>
  <ul class="legend" aria-label="Legend of the front panel">${Object.entries(WORDS).map(([state, word]) => html`<li><span class="jack ${state}" aria-hidden="true">${SIGNS[state] ?? ""}</span> ${word}</li>`)}</ul>`;
}

export const WORDS = { forwarding: "forwarding", discarding: "blocked", disabled: "no carrier", shutdown: "shut down", fault: "closed by a guard" };

const short = (mbps) => (!mbps ? "" : mbps >= 1000 ? `${mbps / 1000}G` : `${mbps}M`);
