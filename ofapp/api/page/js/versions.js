// Versions of the configuration: who applied which file when, differences, and the way back.

import { get, post } from "./api.js";
import { confirm } from "./confirm.js";
import { html, nothing } from "./lit.js";
import { session } from "./session.js";
import { fileQuestion, whatIf } from "./whatif.js";
import { clock, plural } from "./words.js";

const DISK = {
  invalid: "The file on disk is invalid, and the last valid one stays in force.",
  newer: "The file on disk was changed and is not applied.",
  replaced: "The file on disk is not in force: another configuration is in its place.",
};

export class Versions {
  // changed: draws the view again; applied: after a rollback.
  constructor(signal, changed, applied) {
    Object.assign(this, { signal, changed, applied, list: null, found: null, problem: "" });
  }

  async look() {
    this.list = await get(["config", "versions"], {}, this.signal);
    this.changed();
  }

  // The difference of two versions; without `old` from what is in force.
  async compare(query) {
    this.problem = "";
    try {
      this.found = await get(["config", "difference"], query, this.signal);
    } catch (error) {
      this.problem = error.message;
    }
    this.changed();
  }

  async rollback({ version }) {
    this.problem = "";
    const path = ["config", "versions", String(version), "rollback"];
    try {
      const plan = await post(path, { dry_run: "true" });
      const says = plan.bridges.flatMap((own) => own.changes.map((change) => `${own.name}: ${change}`));
      const done = await confirm({
        title: `Roll back to version ${version}?`,
        says: [...plan.warnings, ...plan.fabrics, ...(says.length ? says : ["No switch changes."]), ...plan.restart.map((what) => `From the next start on: ${what}.`)],
        verb: "Roll back",
        check: whatIf(["it is rolled back", async () => fileQuestion(`version ${version}`, (await get(path.slice(0, 3))).text)]),
        act: async () => (await post(path, {})).message,
      });
      if (done) await this.applied();
    } catch (error) {
      this.problem = error.message;
      this.changed();
    }
  }

  view() {
    if (!this.list) return nothing;
    const { versions, disk } = this.list;
    const admin = session.may("admin");
    return html`<h2>Versions</h2>
      ${DISK[disk.state] ? html`<p class="warn">⚠ ${DISK[disk.state]} ${disk.error ? html`<code>${disk.error}</code>` : nothing}
        ${admin ? html`<button @click=${() => this.compare({})}>Compare with the file on disk</button>` : nothing}</p>` : nothing}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      ${this.found ? difference(this.found) : nothing}
      ${versions.length ? html`<div class="scroll" role="region" aria-label="Versions" tabindex="0"><table class="tall">
        <thead><tr>${["Version", "Applied", "By", "How", "Changes", ...(admin ? ["Actions"] : [])].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${versions.map((own, index) => this.row(own, versions[index + 1], admin))}</tbody></table></div>` : html`<p class="quiet">No file was applied yet.</p>`}`;
  }

  row(own, before, admin) {
    const { version, kept, in_force: inForce } = own;
    const changes = own.changes.length + own.more;
    return html`<tr><th scope="row">${version}${inForce ? html` <b>in force</b>` : nothing}</th><td>${clock(own.at)}</td>
      <td>${own.by} <span class="quiet">${own.address}</span></td><td>${own.how}${own.member ? ` of ${own.member}` : ""}</td>
      <td>${changes ? html`<details><summary>${plural(changes, "change")}</summary><ul>${own.changes.map((what) => html`<li>${what}</li>`)}</ul>${own.more ? html`<p>and ${own.more} more</p>` : nothing}</details>` : html`<span class="quiet">none</span>`}</td>
      ${admin ? html`<td class="buttons"><button ?disabled=${!before?.kept || !kept} @click=${() => this.compare({ old: before.version, new: version })}>Difference</button>
        <button ?disabled=${inForce || !kept} @click=${() => this.rollback(own)}>Roll back…</button></td>` : nothing}</tr>`;
  }
}

function difference({ old, new: later, lines, more, bridges }) {
  const kind = (line) => (line.startsWith("+") ? "more" : line.startsWith("-") ? "less" : "same");
  return html`<section class="card"><h3>From ${old.name} to ${later.name}</h3>
    ${[old, later].filter((own) => own.error).map((own) => html`<p class="warn">⚠ ${own.error}</p>`)}
    ${bridges?.length ? html`<ul>${bridges.flatMap((own) => own.changes.map((what) => html`<li>${own.name}: ${what}</li>`))}</ul>` : nothing}
    ${lines.length ? html`<div class="diff" role="region" tabindex="0" aria-label="Lines that differ">${lines.map((text) => html`<div class=${kind(text)}>${text || " "}</div>`)}</div>` : html`<p class="quiet">The two are equal.</p>`}
    ${more ? html`<p>and ${plural(more, "more line")}</p>` : nothing}</section>`;
}
