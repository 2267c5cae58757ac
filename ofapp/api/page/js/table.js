// A table of any length: only visible rows are in the page, and more are requested near the end.  All
// rows have the same height, which the style sheet sets (--row).

import { html, nothing, render } from "./lit.js";

const SPARE = 8; // rows beyond the visible ones, above and below

export class Table {
  // columns: [{name, title, cell(row), kind: "number" | "code" | "", sort(row) or none, width in ch,
  //   line: 1 or 2 of a row on a phone, none = not there}]
  // key(row): identifies it.  more(): requests further rows, which arrive by `set`.
  constructor(place, { label, columns, key, more = null, chosen = null, empty = "Nothing here." }) {
    Object.assign(this, { place, label, columns, key, more, chosen, empty });
    this.phone = matchMedia("(max-width: 640px)");
    this.rows = [];
    this.total = null;
    this.whole = false; // nothing is known before the first set
    this.order = null; // [column's name, 1 or -1]
    this.height = 26;
    this.draw();
    const box = this.box;
    box.addEventListener("scroll", () => this.soon(), { passive: true });
    this.observer = new ResizeObserver(() => this.soon());
    this.observer.observe(box);
  }

  get box() {
    return this.place.querySelector(".scroll");
  }

  // whole: there are no further rows; total: number of rows, null = unknown.
  set(rows, { whole = true, total = rows.length } = {}) {
    Object.assign(this, { rows, whole, total });
    this.asked = false;
    this.arrange();
    this.draw();
  }

  arrange() {
    const [name, direction] = this.order ?? [];
    const column = this.columns.find((own) => own.name === name);
    if (!column) {
      this.sorted = this.rows;
      return;
    }
    const compare = (a, b) => {
      const [x, y] = [column.sort(a), column.sort(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return direction * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    };
    this.sorted = [...this.rows].sort(compare);
  }

  sortBy(name) {
    const [now, direction] = this.order ?? [];
    this.order = now !== name ? [name, 1] : direction === 1 ? [name, -1] : null;
    this.arrange();
    this.draw();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const rows = this.sorted ?? this.rows;
    const box = this.box;
    const top = box?.scrollTop ?? 0;
    const room = Math.ceil((box?.clientHeight || 600) / this.height);
    const last = Math.max(0, rows.length - room);
    const first = Math.min(Math.max(0, Math.floor(top / this.height) - SPARE), last);
    const end = Math.min(rows.length, first + room + 2 * SPARE);
    render(this.template(rows, first, end), this.place);
    // In a narrow window the table scrolls sideways, so that no cell is cut; on a phone a row has two lines.
    const wanted = this.columns.reduce((sum, column) => sum + (column.width ?? 12) + 1, 0);
    this.place.querySelector("table").style.minWidth = this.phone.matches ? "0" : `${wanted}ch`;
    const [above, below] = this.place.querySelectorAll(".space");
    above.style.height = `${first * this.height}px`;
    below.style.height = `${(rows.length - end) * this.height}px`;
    const measured = this.place.querySelector("tbody tr.row")?.getBoundingClientRect().height;
    if (measured && Math.abs(measured - this.height) > 0.5) {
      this.height = measured;
      this.soon();
    }
    if (!this.whole && rows.length && !this.asked && this.more && end > rows.length - 3 * room) {
      this.asked = true;
      this.more();
    }
  }

  template(rows, first, end) {
    const { columns } = this;
    return html`<div class="scroll" role="region" aria-label=${this.label} tabindex="0">
      <table aria-rowcount=${this.total === null ? -1 : this.total + 1} aria-label=${this.label}>
        <colgroup>${(this.phone.matches ? [] : columns).map((column) => html`<col class="w${column.width ?? 12} c-${column.name}">`)}</colgroup>
        <thead class=${this.phone.matches ? "unseen" : ""}><tr aria-rowindex="1">${columns.map((column) => this.head(column))}</tr></thead>
        <tbody>
          <tr class="space" aria-hidden="true"><td colspan=${columns.length}></td></tr>
          ${rows.slice(first, end).map((row, index) => this.row(row, first + index + 2))}
          <tr class="space" aria-hidden="true"><td colspan=${columns.length}></td></tr>
        </tbody>
      </table>
      ${rows.length ? nothing : html`<p class="quiet empty">${this.whole ? this.empty : "Loading…"}</p>`}
    </div>`;
  }

  head(column) {
    const [name, direction] = this.order ?? [];
    const mine = name === column.name;
    const order = mine ? (direction === 1 ? "ascending" : "descending") : nothing;
    return html`<th scope="col" class="${column.kind ?? ""} c-${column.name}" aria-sort=${order}>
      ${column.sort
        ? html`<button class="plain sort" @click=${() => this.sortBy(column.name)}>${column.title}<span
            aria-hidden="true">${mine ? (direction === 1 ? " ▴" : " ▾") : ""}</span></button>`
        : column.title}
    </th>`;
  }

  row(row, index) {
    const chosen = this.chosen !== null && this.key(row) === this.chosen;
    if (this.phone.matches) {
      const line = (number) => this.columns.filter((column) => column.line === number).map((column) => html`<span class=${column.kind === "code" ? "code" : ""}>${column.kind === "number" ? html`<span class="quiet">${column.title.toLowerCase()}</span> ` : nothing}${column.cell(row)}</span> `);
      return html`<tr class="row lines ${chosen ? "chosen" : ""}" aria-rowindex=${index}><td colspan=${this.columns.length}><div>${line(1)}</div><div>${line(2)}</div></td></tr>`;
    }
    return html`<tr class="row ${chosen ? "chosen" : ""}" aria-rowindex=${index}>
      ${this.columns.map((column) => html`<td class="${column.kind ?? ""} c-${column.name}">${column.cell(row)}</td>`)}
    </tr>`;
  }
}
