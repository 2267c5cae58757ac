// What stands beside the map: theory, exercises, the chosen bridge, host or cable, and all cables.

import { html, nothing } from "../page/js/lit.js";
import { facts, roleBadge, stateBadge } from "../page/js/words.js";

const GROUP = "239.1.1.1";
const VLANS = [10, 20, 30];
const PRIORITIES = Array.from({ length: 16 }, (_, step) => step * 4096);
const TREES = [["rstp", "RSTP"], ["stp", "STP"], ["off", "none"]];
const SNOOPS = [["off", "off"], ["on", "on"], ["querier", "on, and querier"]];

// say: {act(name, ...arguments), choose(name), from(name), checked: Map number -> text, check(number, choice)}
export function panel(seen, chosen, from, say) {
  const bridge = seen.bridges.find((own) => own.name === chosen);
  const host = seen.hosts.find((own) => own.name === chosen);
  return html`
    <section class="card"><h2>${seen.title}</h2><ul>${seen.theory.map((own) => html`<li>${own}</li>`)}</ul></section>
    ${seen.exercises.length ? html`<section class="card"><h2>Exercises</h2><ol>${seen.exercises.map((own, number) => html`<li>${exercise(own, number, say)}</li>`)}</ol></section>` : nothing}
    <section class="card"><h2>Bridges and hosts</h2>
      <div class="buttons">${[...seen.bridges, ...seen.hosts].map(({ name }) => html`<button class="small" aria-pressed=${name === chosen} @click=${() => say.choose(name)}>${name}</button>`)}
        <button class="small" @click=${() => say.act("add_bridge")}>Add a bridge</button></div>
      ${from ? html`<p role="status"><b>Cable from ${from}: choose the other bridge.</b> <button class="small" @click=${() => say.from(null)}>Cancel</button></p>` : nothing}
      ${bridge ? bridgePanel(bridge, seen.cables, say) : nothing}${host ? hostPanel(host, seen, say) : nothing}
    </section>
    <section class="card"><h2>Cables</h2><ul class="rows-of">${seen.cables.map((own) => cable(own, say))}</ul></section>`;
}

function exercise({ text, choices, done }, number, say) {
  const check = (event) => say.check(number, event.target.parentElement.querySelector("select").value);
  return html`${text} ${done ? html`<span class="done">✓ solved</span>` : nothing}
    ${choices.length && !done ? html`<p><select aria-label="Answer to exercise ${number + 1}">${choices.map((own) => html`<option>${own}</option>`)}</select>
      <button class="small" @click=${check}>Check</button></p>` : nothing}
    <p role="status">${done ? nothing : (say.checked.get(number) ?? nothing)}</p>`;
}

const select = (label, options, now, changed) => html`<label>${label} <select @change=${(event) => changed(event.target.value)}>${options.map(([value, text]) => html`<option value=${value} ?selected=${String(value) === String(now)}>${text}</option>`)}</select></label>`;

function bridgePanel({ name, settings, bridge_id, root_id, root_path_cost, ports, addresses, groups }, cables, say) {
  const set = (setting) => (value) => say.act("configure", name, setting, setting === "priority" ? Number(value) : value);
  const shown = ports.filter((own) => !own.local);
  const ends = cables.flatMap(({ a, b }) => (a === name ? [b] : b === name ? [a] : []));
  const twice = [...new Set(ends)].filter((own) => ends.indexOf(own) !== ends.lastIndexOf(own));
  return html`<h3>${name}</h3>
    <div class="fields">${select("Priority", PRIORITIES.map((own) => [own, own]), settings.priority, set("priority"))}
      ${select("Spanning tree", TREES, settings.tree, set("tree"))}${select("IGMP snooping", SNOOPS, settings.snooping, set("snooping"))}</div>
    ${facts([["bridge id", bridge_id], ["root", bridge_id && root_id === bridge_id ? "this bridge" : root_id], ["cost to the root", root_path_cost]])}
    <div class="scroll" tabindex="0"><table><caption class="unseen">Ports of ${name}</caption><thead><tr><th>Port</th><th>Role</th><th>State</th><th>VLAN</th></tr></thead>
      <tbody>${shown.map((own) => html`<tr><td>${own.name}${own.members.length ? html` <span class="quiet">${own.in_use.length} of ${own.members.length} in use</span>` : nothing}</td><td>${roleBadge(own.role)}</td><td>${own.state ? stateBadge(own.state) : nothing}<div class="quiet">${own.reason}${own.waits && own.state !== "forwarding" ? `, ${own.waits.toFixed(1)} s left` : ""}</div></td><td>${vlan(name, settings, own, say)}</td></tr>`)}</tbody></table></div>
    <h3>Learned addresses</h3>${addresses.length ? html`<ul>${addresses.map((own) => html`<li>${own.host} at ${own.port}${own.vlan ? ` in VLAN ${own.vlan}` : ""}</li>`)}</ul>` : html`<p class="quiet">None.</p>`}
    ${groups.length ? html`<h3>Groups</h3><ul>${groups.map((own) => html`<li>${own.group}: ${own.ports.join(", ") || "no port"}</li>`)}</ul>` : nothing}
    <div class="buttons"><button class="small" @click=${() => say.from(name)}>Cable from ${name}</button>
      ${twice.map((other) => html`<button class="small" @click=${() => say.act("aggregate", name, other)}>Aggregate cables to ${other}</button>`)}
      <button class="small" @click=${() => say.act("add_host", name)}>Add a host</button>
      <button class="small" @click=${() => say.act("remove", name)}>Remove ${name}</button></div>`;
}

function vlan(bridge, settings, { name, role, edge, vlan: now }, say) {
  if (now === null && role && !edge) return "all";
  const changed = (value) => {
    const { [name]: _, ...others } = settings.vlans;
    say.act("configure", bridge, "vlans", value === "0" ? others : { ...others, [name]: Number(value) });
  };
  return html`<select aria-label="VLAN of ${name}" @change=${(event) => changed(event.target.value)}>${[[0, "all"], ...VLANS.map((own) => [own, own])].map(([value, text]) => html`<option value=${value} ?selected=${value === (now ?? 0)}>${text}</option>`)}</select>`;
}

function hostPanel({ name, received, groups }, { hosts }, say) {
  const others = hosts.map((own) => own.name).filter((own) => own !== name);
  const send = (event) => say.act("send", name, event.target.parentElement.querySelector("select").value);
  return html`<h3>${name}</h3>
    <p><label>Send a frame to <select>${[...others, "all", GROUP].map((own) => html`<option>${own}</option>`)}</select></label> <button class="small" @click=${send}>Send</button></p>
    <p>${groups.length ? `Member of ${groups.join(", ")}.` : html`<button class="small" @click=${() => say.act("join", name, GROUP)}>Join ${GROUP}</button>`}</p>
    <p>Frames of hosts that came since the last one was sent: ${Object.entries(received).map(([from, times]) => `${times} of ${from}`).join(", ") || "none"}.</p>
    <button class="small" @click=${() => say.act("remove", name)}>Remove ${name}</button>`;
}

function cable({ a, b, ports, plugged }, say) {
  const name = `${a} ${ports[0]} – ${b} ${ports[1]}`.trim();
  return html`<li>${name}<span class="push"></span>${plugged ? nothing : html`<b class="bad">cut</b> `}<button class="small" aria-label="${plugged ? "Cut" : "Plug in"} ${name}" @click=${() => say.act(plugged ? "cut" : "plug", a, ports[0])}>${plugged ? "Cut" : "Plug in"}</button></li>`;
}
