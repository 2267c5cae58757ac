// Change a port: its description, VLANs, trust and shutdown.  Each entry is tried first, and the form says
// in words of the network what would change; what was applied can be undone.

import { call } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { notify } from "./notices.js";
import { portSettings, whatIf } from "./whatif.js";
import { plural } from "./words.js";

const dialog = document.getElementById("dialog");
const PAUSE = 400; // milliseconds without typing before a trial
const TRUSTS = [["none", "none"], ["guest", "guest: its hosts may be hostile"], ["learn", "learn: reports what it would refuse"], ["uplink", "uplink: routers and servers"]];
const MODES = [["transparent", "every VLAN, unchanged"], ["access", "access: one VLAN, untagged"], ["trunk", "trunk: several VLANs, tagged"]];

// The form's values for the settings of a port, as of /v1/bridges/{dpid}/ports/{port}.
export function entered({ description = "", vlan = "transparent", trust = "none", shutdown = false }) {
  const trunk = typeof vlan === "object" && vlan.trunk !== undefined;
  const access = typeof vlan === "object" ? vlan.access : vlan === "transparent" ? "" : vlan;
  return {
    description, trust, shutdown,
    mode: trunk ? "trunk" : vlan === "transparent" ? "transparent" : "access",
    access: String(access ?? ""),
    trunk: trunk ? [vlan.trunk].flat().join(", ") : "",
    native: trunk ? String(vlan.native ?? "") : "",
  };
}

// A VLAN is given by its number or its name.
const vlan = (text) => (/^\d+$/.test(text.trim()) ? Number(text) : text.trim());

// What the form changes, under the keys of the file; null resets a value to its default.
export function changed(old, given) {
  const found = {};
  if (given.description !== old.description) found.description = given.description || null;
  if (given.trust !== old.trust) found.trust = given.trust === "none" ? null : given.trust;
  if (given.shutdown !== old.shutdown) found.shutdown = given.shutdown || null;
  if (["mode", "access", "trunk", "native"].some((name) => given[name] !== old[name])) {
    if (given.mode === "transparent") found.vlan = null;
    else if (given.mode === "access") found.vlan = vlan(given.access);
    else found.vlan = { trunk: given.trunk.split(",").filter((own) => own.trim()).map(vlan), native: given.native.trim() ? vlan(given.native) : null };
  }
  return found;
}

// The change that leads from `after` back to `before` (RFC 7396).
export function backTo(before, after) {
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const found = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key], after[key]];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    found[key] = old === undefined ? null : isObject(old) && isObject(now) ? backTo(old, now) : old;
  }
  return found;
}

// about: {id, bridge, port, settings, after: called when something has changed}
export function editPort({ id, bridge, port, settings, after }) {
  const old = entered(settings);
  let plan = null; // answer of the trial
  let timer = null;
  let number = 0; // of the newest trial
  const patch = (ports, dryRun) => call("PATCH", ["bridges", id, "settings"], { query: dryRun ? { dry_run: "true" } : {}, body: { settings: { ports } } });

  const check = whatIf(["this is applied", asked]);

  function asked() {
    const values = read(dialog.querySelector("form"));
    if (!Object.keys(values).length) throw new Error("Nothing is entered yet.");
    return portSettings(id, port.name, values);
  }

  const read = (form) => {
    const given = Object.fromEntries(new FormData(form));
    return changed(old, { ...old, ...given, shutdown: form.elements.shutdown.checked });
  };

  async function attempt(form) {
    const own = ++number;
    const values = read(form);
    try {
      const answer = Object.keys(values).length ? await patch({ [port.name]: values }, true) : null;
      if (own !== number) return;
      plan = answer;
      draw("", form.elements.mode.value);
    } catch (error) {
      if (own !== number) return;
      plan = null;
      draw(error.message, form.elements.mode.value);
    }
  }

  const typed = (event) => {
    const form = event.currentTarget;
    if (event.type === "change" && event.target.type === "text") return; // each letter was tried
    plan = null;
    check.clear();
    number += 1;
    draw("", form.elements.mode.value);
    clearTimeout(timer);
    timer = setTimeout(() => attempt(form), PAUSE);
  };

  async function apply(event) {
    event.preventDefault();
    if (!plan?.changes.length) return;
    const values = read(event.target);
    try {
      const { before, after: now } = await patch({ [port.name]: values });
      dialog.close();
      notify(`${port.name} of ${bridge.name} is changed.`, "done", { text: "Undo", act: () => undo(backTo(before, now)) });
      await after();
    } catch (error) {
      plan = null;
      draw(error.message, event.target.elements.mode.value);
    }
  }

  async function undo(settings) {
    await call("PATCH", ["bridges", id, "settings"], { body: { settings } }).then(
      () => notify(`${port.name} of ${bridge.name} is as before.`),
      (error) => notify(error.message, "problem"),
    );
    await after();
  }

  const choice = (name, options) => html`<select name=${name}>${options.map(([value, text]) => html`<option value=${value} ?selected=${old[name] === value}>${text}</option>`)}</select>`;
  const field = (name, text, size) => html`<label>${text} <input name=${name} value=${old[name]} size=${size} autocomplete="off" spellcheck="false"></label>`;

  function draw(problem = "", mode = old.mode) {
    render(
      html`<form @submit=${apply} @input=${typed} @change=${typed}>
        <h2 id="dialog-title">Change ${port.name} of ${bridge.name}</h2>
        <div class="fields">
          ${field("description", "Description", 40)}
          <label>VLANs ${choice("mode", MODES)}</label>
          <div ?hidden=${mode !== "access"}>${field("access", "VLAN, by number or name", 12)}</div>
          <div ?hidden=${mode !== "trunk"}>${field("trunk", "Tagged VLANs, as 10, 20-30", 24)}${field("native", "VLAN of untagged frames (empty: none are let in)", 12)}</div>
          <label>Trust of the hosts behind it ${choice("trust", TRUSTS)}</label>
          <label class="tick"><span><input type="checkbox" name="shutdown" ?checked=${old.shutdown}> shut down</span></label>
        </div>
        <div class="plan" role="status">${problem ? html`<p class="problem">${problem}</p>` : planned(plan)}</div>
        ${check}
        <div class="buttons">
          <button type="button" @click=${() => dialog.close()}>Cancel</button>
          <button class="primary" type="submit" ?disabled=${!plan?.changes.length}>Apply</button>
        </div>
      </form>`,
      dialog,
    );
  }
  render(nothing, dialog); // a form of before keeps what was typed
  draw();
  dialog.showModal();
  dialog.querySelector("input").focus();
}

function planned(plan) {
  if (!plan) return html`<p class="quiet">What would change is shown here before it is applied.</p>`;
  const items = plan.planned?.items ?? [];
  return html`<h3>What changes</h3><ul class="consequences">${items.length
    ? items.map((own) => html`<li>${[own.item, own.changes.join(", ")].filter(Boolean).join(": ")} <span class="quiet">(${plural(own.sent.flows, "flow")})</span></li>`)
    : html`<li class="quiet">Nothing in the switch.</li>`}</ul>
    <details><summary>${plural(plan.changes.length, "setting")}</summary><ul class="consequences">${plan.changes.map((own) => html`<li><code>${own}</code></li>`)}</ul></details>`;
}
