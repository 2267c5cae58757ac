// The running configuration beside the file; for admins, the effect of a reload.

import { get, post } from "./api.js";
import { confirm } from "./confirm.js";
import { compare, lines } from "./diff.js";
import { html, nothing, render } from "./lit.js";
import { amend, link } from "./router.js";
import { session } from "./session.js";
import { SHAPES, standing } from "./standing.js";
import { Versions } from "./versions.js";
import { whatIf } from "./whatif.js";
import { clock, plural } from "./words.js";

export const title = "Configuration";

export async function show(place, route, signal) {
  const state = { status: null, version: null, dry: null, problem: "", only: route.query.get("all") !== "yes" };

  const versions = new Versions(signal, () => state.status && draw(), look);

  async function look() {
    [state.status, state.version] = await Promise.all([get(["config"], {}, signal), get(["version"], {}, signal), versions.look()]);
    draw();
  }

  async function dryRun() {
    state.problem = "";
    try {
      state.dry = await post(["config", "reload"], { dry_run: "true" });
    } catch (error) {
      state.problem = error.message;
    }
    draw();
  }

  async function reload(reset) {
    const dropped = state.status.bridges.flatMap((own) => own.since);
    const done = await confirm({
      title: reset ? "Go back to the file?" : "Reload the file?",
      says: [
        reset
          ? `What was set at run time is taken back (${plural(dropped.length, "change")}), and what runs becomes what the file says.`
          : "What runs becomes what the file says now; what was set at run time stays, unless the file has changed the same value.",
        "No frame is lost: each switch gets the difference.",
      ],
      verb: reset ? "Go back to the file" : "Reload",
      check: whatIf(["it is read", { reload: reset ? "reset" : "keep" }]),
      act: async () => (await post(["config", "reload"], reset ? { reset: "true" } : {})).message,
    });
    if (done) {
      state.dry = null;
      await look();
    }
  }

  function draw() {
    if (signal.aborted) return;
    render(page(state, { dryRun, reload, versions, all: (only) => {
      state.only = only;
      amend(route, { all: only ? "" : "yes" });
      draw();
    } }), place);
  }

  // A problem of the file begins or ends: the versions or the file on disk have changed.
  standing.watch(() => state.status && versions.look().catch(draw), signal);
  await look();
}

function page({ status, version, dry, problem, only }, { dryRun, reload, versions, all }) {
  const admin = session.may("admin");
  const changed = status.bridges.filter((own) => own.since.length + own.run_time_entries.length);
  const shown = only ? changed : status.bridges;
  const { commit } = version;
  return html`<h1>Configuration</h1>
    <p>The controller is ofapp ${version.version}${commit ? ` (commit ${commit})` : ""}, started ${clock(version.started)}.</p>
    <p>${status.file ? html`The file is <code>${status.file}</code>, read ${clock(status.loaded)}${status.watch ? ", and read by itself when it changes" : ""}.` : "There is no configuration file: each switch is a learning bridge with spanning tree and snooping."}</p>
    ${standing.problems?.filter((own) => own.kind.startsWith("config.")).map((own) => html`<p class="severity ${own.severity}"><span aria-hidden="true">${SHAPES[own.severity]}</span> ${own.message}${own.remedy ? html` <code>${own.remedy}</code>` : nothing}</p>`)}
    ${status.warnings.map((what) => html`<p class="warn">⚠ ${what}</p>`)}
    ${admin && status.file ? html`<div class="buttons">
        <button @click=${dryRun}>What would a reload change?</button>
        <button @click=${() => reload(false)}>Reload…</button>
        <button @click=${() => reload(true)} ?disabled=${!changed.length}>Take back what was set at run time…</button>
      </div>` : nothing}
    ${problem ? html`<p class="problem" role="alert">${problem}</p>` : nothing}
    ${dry ? dryOutcome(dry) : nothing}
    ${versions.view()}
    <h2>In force, compared with the file</h2>
    <p><label><input type="checkbox" .checked=${!only} @change=${(event) => all(!event.target.checked)}> also switches without a difference</label></p>
    ${shown.length ? shown.map((own) => bridge(own)) : html`<p class="quiet">Every switch runs what the file says.</p>`}`;
}

function dryOutcome(dry) {
  return html`<section class="card"><h2>${dry.message}</h2>
    ${dry.restart.map((what) => html`<p class="warn">From the next start on: ${what}</p>`)}
    ${dry.bridges.map((own) => html`<h3>${own.name}</h3><ul>${own.changes.map((what) => html`<li>${what}</li>`)}</ul>
      ${own.items.length ? html`<h4>In the network</h4><ul>${own.items.map((one) => html`<li>${[one.item, one.changes.join(", ")].filter(Boolean).join(": ")} <small class="quiet">${counted(one.sent)}</small></li>`)}</ul>` : nothing}
      ${own.lines.length ? html`<details><summary>${plural(own.lines.length, "change")} in its switch</summary><pre class="diff">${own.lines.join("\n")}</pre></details>` : nothing}`)}
  </section>`;
}

function counted(sent) {
  return Object.entries(sent).filter(([, number]) => number).map(([kind, number]) => plural(number, kind.slice(0, -1))).join(", ");
}

function bridge(own) {
  const found = compare(lines(own.filed), lines(own.config));
  const marks = { same: "  ", more: "+ ", less: "− " };
  return html`<section class="card"><h2><a href=${link(["bridge", own.datapath_id])}>${own.name}</a> <small class="quiet">${own.entries.length ? `by the entry ${own.entries[0]}` : "no separate entry"}</small></h2>
    ${own.since.length + own.run_time_entries.length ? html`<ul>${[...own.since, ...own.run_time_entries].map((what) => html`<li>${what}</li>`)}</ul>` : html`<p class="quiet">It runs what the file says.</p>`}
    ${found.length ? html`<div class="diff" role="region" tabindex="0" aria-label="The file and what runs on ${own.name}, line by line">${found.map(({ kind, text }) => html`<div class=${kind}><span class="unseen">${kind === "more" ? "runs: " : kind === "less" ? "in the file: " : ""}</span>${marks[kind]}${text}</div>`)}</div>` : nothing}
  </section>`;
}
