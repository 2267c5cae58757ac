// A port's last day, by uPlot: traffic, or errors and drops; a value a minute, then what is seen live.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { html, render } from "./lit.js";
import { clock, scaled } from "./words.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const HEIGHT = 160;
const RANGES = [["hour", 3600], ["day", 86400]];
const KINDS = {
  traffic: { unit: "bit/s", least: 1000, series: [["in", "accent", []], ["out", "inactive", [5, 3]]] },
  faults: { unit: "", least: 10, series: [["errors", "fault", []], ["drops", "warning", [5, 3]]] },
};

// The samples of a port, as of /v1/bridges/{dpid}/ports/{port}/history, and live rates after them.
// Returns {traffic: [times, in, out], faults: [times, errors, drops]}; times in seconds since the epoch.
export function series({ start, interval, rx_bytes: rx, tx_bytes: tx, errors, drops }, live) {
  const first = start === null ? 0 : Date.parse(start) / 1000 + interval;
  const times = rx.map((_value, at) => first + at * interval);
  const octets = (value) => (value === null ? null : value * 8);
  const fresh = live.filter(([at]) => !times.length || at > times.at(-1));
  return {
    traffic: [[...times, ...fresh.map(([at]) => at)], [...rx, ...fresh.map(([, own]) => own)].map(octets), [...tx, ...fresh.map(([, , own]) => own)].map(octets)],
    faults: [times, errors, drops],
  };
}

export class Chart {
  constructor(place) {
    this.place = place;
    this.kind = "traffic";
    this.range = "hour";
    this.data = { traffic: [[], [], []], faults: [[], [], []] };
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.remake();
    this.theme.addEventListener("change", this.repaint);
    this.observer = new ResizeObserver(() => this.plot?.setSize({ width: this.room.clientWidth, height: HEIGHT }));
    this.tools();
    this.observer.observe(this.room);
  }

  get room() {
    return this.place.querySelector(".plot");
  }

  // data: see `series`
  show(data) {
    this.data = data;
    this.draw();
  }

  tools() {
    const pick = (name, value) => () => {
      this[name] = value;
      this.tools();
      this.remake();
    };
    const button = (name, value, text) => html`<button type="button" class="small" aria-pressed=${this[name] === value} @click=${pick(name, value)}>${text}</button>`;
    render(html`<div class="chart-tools"><span>${button("kind", "traffic", "Traffic")} ${button("kind", "faults", "Errors and drops")}</span>
      <span>${RANGES.map(([name]) => button("range", name, `Last ${name}`))}</span></div>
      <div class="plot"></div><p class="quiet first"></p>`, this.place);
  }

  remake() {
    this.plot?.destroy();
    this.plot = null;
    this.draw();
  }

  draw() {
    const all = this.data[this.kind];
    const now = Date.now() / 1000;
    const since = now - RANGES.find(([name]) => name === this.range)[1];
    const from = all[0].findIndex((at) => at >= since);
    const data = from < 0 ? all.map(() => []) : all.map((values) => values.slice(from));
    this.place.querySelector(".first").textContent = data[0].length > 1 ? "" : "The controller reads the counters once a minute: the first value comes within two minutes.";
    if (this.plot) {
      this.plot.setData(data);
      return;
    }
    const { unit, least, series: lines } = KINDS[this.kind];
    const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const value = (_plot, own) => (own === null || own === undefined ? "–" : scaled(own, unit));
    const time = (seconds) => clock(new Date(seconds * 1000).toISOString()).slice(0, -3);
    this.plot = new uPlot(
      {
        width: this.room.clientWidth || 300,
        height: HEIGHT,
        padding: [8, 8, 0, 0],
        scales: {
          x: { range: (_plot, low, high) => (data[0].length > 1 ? [low, high] : [now - 3600, now]) },
          y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, least)] },
        },
        axes: [{ ...axis, space: 60, values: (_plot, ticks) => ticks.map(time) }, { ...axis, size: 76, values: (_plot, ticks) => ticks.map((tick) => scaled(tick, unit)) }],
        series: [
          { label: "at", value: (_plot, at) => (at === null ? "–" : time(at)) },
          ...lines.map(([label, name, dash]) => ({ label, stroke: colour(name), width: 1.5, dash, points: { show: false }, value })),
        ],
      },
      data,
      this.room,
    );
  }

  close() {
    this.theme.removeEventListener("change", this.repaint);
    this.observer.disconnect();
    this.plot?.destroy();
  }
}
