// Pages of a forwarding database as one list that is loaded while scrolling.

import { get } from "./api.js";
import { html, nothing } from "./lit.js";
import { link } from "./router.js";
import { age, vlanText } from "./words.js";

const PAGE = 500;

export class Entries {
  // path: of the API; changed(): there are more rows; list: the name of a page's rows.
  constructor(path, changed, signal, list = "entries") {
    Object.assign(this, { path, changed, signal, list });
    this.filter = {};
    this.begin();
  }

  begin() {
    this.rows = [];
    this.next = null;
    this.whole = false;
    this.turn = (this.turn ?? 0) + 1;
  }

  // Read from the start; the old rows stay until the first page has arrived.
  async restart(filter = this.filter) {
    this.filter = filter;
    const turn = (this.turn += 1);
    const page = await get(this.path, { ...filter, limit: PAGE }, this.signal);
    if (turn !== this.turn) return;
    this.rows = page[this.list];
    this.next = page.next;
    this.whole = page.next === null;
    this.changed();
  }

  async more() {
    if (this.whole || this.next === null) return;
    const { turn } = this;
    const page = await get(this.path, { ...this.filter, limit: PAGE, cursor: this.next }, this.signal);
    if (turn !== this.turn) return;
    this.rows = this.rows.concat(page[this.list]);
    this.next = page.next;
    this.whole = page.next === null;
    this.changed();
  }
}

export function entryColumns({ bridges = false, action = null } = {}) {
  const columns = [
    { name: "mac", title: "MAC", width: 18, line: 1, kind: "code", cell: (entry) => html`<a href=${link(["search"], { q: entry.mac })}>${entry.mac}</a>` },
    { name: "vlan", title: "VLAN", width: 12, line: 2, cell: (entry) => vlanText(entry.vlan) },
    { name: "port", title: "Port", width: 16, line: 2, cell: (entry) => html`<a href=${link(["bridge", entry.datapath_id, "ports"], { port: entry.port.number })}>${entry.port.name}</a>` },
    { name: "type", title: "Type", width: 10, cell: (entry) => entry.type },
    { name: "flags", title: "Flags", width: 14, cell: (entry) => (entry.flags.length ? html`<b class="warn">${entry.flags.join(", ")}</b>` : "") },
    { name: "addresses", title: "IP addresses", width: 18, line: 1, kind: "code", cell: (entry) => entry.addresses.join(", ") },
    { name: "updated", title: "Last seen", width: 11, kind: "number", cell: (entry) => age(entry.updated) },
    { name: "used", title: "Used", width: 9, kind: "number", cell: (entry) => age(entry.used) },
  ];
  if (bridges) columns.splice(1, 0, { name: "bridge", title: "Switch", width: 16, line: 2, cell: (entry) => html`<a href=${link(["bridge", entry.datapath_id])}>${entry.bridge}</a>${entry.away ? html` <b class="warn">disconnected</b>` : nothing}` });
  if (action) columns.push({ name: "action", title: html`<span class="unseen">Change</span>`, width: 12, cell: action });
  return columns;
}

// A form of filters; submit(given values).
export function filterForm(values, submit, types, extra = nothing) {
  const read = (event) => {
    event.preventDefault();
    const form = event.currentTarget.closest("form") ?? event.currentTarget;
    submit(Object.fromEntries([...new FormData(form)].map(([name, text]) => [name, text.trim()]).filter(([, text]) => text)));
  };
  return html`<form class="filters" @submit=${read}>
    <label>MAC <input name="mac" .value=${values.mac ?? ""} size="17" spellcheck="false" autocomplete="off"></label>
    <label>VLAN <input name="vlan" .value=${values.vlan ?? ""} size="5" inputmode="numeric" autocomplete="off"></label>
    <label>Port <input name="port" .value=${values.port ?? ""} size="10" spellcheck="false" autocomplete="off"></label>
    <label>Type <select name="type" @change=${read}>${["", ...types].map((type) => html`<option value=${type} ?selected=${(values.type ?? "") === type}>${type || "any"}</option>`)}</select></label>
    <button>Filter</button>${extra}
  </form>`;
}
