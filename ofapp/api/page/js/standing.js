// The problems that stand now: one list for the header, the first view and the map.

import { get } from "./api.js";
import { live } from "./live.js";
import { html } from "./lit.js";
import { calmly, every } from "./poll.js";
import { link } from "./router.js";
import { plural } from "./words.js";

const SECONDS = 10; // between requests; an event of a problem causes one at once
export const SHAPES = { error: "✖", warning: "⚠", info: "ℹ" };

export const standing = {
  problems: null, // of /v1/problems; null before the first answer
  leftOut: 0,
  silent: [],
  failed: "",
  watchers: new Set(),

  // Ask until the signal is aborted.
  follow(signal) {
    this.look = every(SECONDS, () => this.ask(signal), signal, (error) => this.tell({ failed: error.message }));
    const soon = calmly(() => this.look(), 100, signal);
    live.hear((event) => event.kind.startsWith("problem.") && soon(), signal);
  },

  async ask(signal) {
    const { problems, left_out: leftOut, silent } = await get(["problems"], {}, signal);
    this.tell({ problems, leftOut, silent, failed: "" });
  },

  tell(news) {
    Object.assign(this, news);
    for (const watcher of [...this.watchers]) watcher();
  },

  // Call the watcher after each answer until the signal is aborted.
  watch(watcher, signal) {
    this.watchers.add(watcher);
    signal?.addEventListener("abort", () => this.watchers.delete(watcher));
  },

  // Problems that no user has acknowledged.
  get open() {
    return (this.problems ?? []).filter((own) => own.acknowledged === null);
  },
};

const count = (problems, severity) => problems.filter((own) => own.severity === severity).length;

// The count in the header of every view; red only for errors.
export function standingBadge(current) {
  const { open, problems } = standing;
  const counts = [["error", "error"], ["warning", "warning"], ["info", "notice"]]
    .map(([severity, word]) => [severity, word, count(open, severity)])
    .filter(([, , number]) => number);
  const known = problems !== null;
  return html`<a class="standing" href=${link(["problems"])} aria-current=${current ? "page" : "false"}>${!known
    ? html`<span class="quiet">…</span>`
    : counts.length
      ? counts.map(([severity, word, number]) => html`<span class="severity ${severity}"><span aria-hidden="true">${SHAPES[severity]}</span> ${plural(number, word)}</span>`)
      : html`<span class="severity ok"><span aria-hidden="true">●</span> no problems</span>`}</a>`;
}
