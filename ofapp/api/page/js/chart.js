// A port's traffic over time, by uPlot.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { scaled } from "./words.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const HEIGHT = 150;

export class Chart {
  constructor(place) {
    this.place = place;
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => {
      this.plot?.destroy();
      this.plot = null;
      this.draw();
    };
    this.theme.addEventListener("change", this.repaint);
    this.data = [[], [], []];
    this.observer = new ResizeObserver(() => this.plot?.setSize({ width: place.clientWidth, height: HEIGHT }));
    this.observer.observe(place);
  }

  // history: [[seconds since the epoch, octets a second in, out]]
  show(_number, history) {
    this.data = [
      history.map(([at]) => at),
      history.map(([, rx]) => (rx === null ? null : rx * 8)),
      history.map(([, , tx]) => (tx === null ? null : tx * 8)),
    ];
    this.draw();
  }

  draw() {
    if (this.plot) {
      this.plot.setData(this.data);
      return;
    }
    const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const value = (_plot, bits) => (bits === null || bits === undefined ? "–" : scaled(bits, "bit/s"));
    const two = (number) => String(number).padStart(2, "0");
    const clock = (seconds) => {
      const time = new Date(seconds * 1000);
      return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
    };
    this.plot = new uPlot(
      {
        width: this.place.clientWidth || 300,
        height: HEIGHT,
        padding: [8, 8, 0, 0],
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1000)] } },
        axes: [{ ...axis, space: 70, values: (_plot, ticks) => ticks.map(clock) }, { ...axis, size: 68, values: (_plot, ticks) => ticks.map((tick) => scaled(tick, "bit/s")) }],
        series: [
          { label: "at", value: (_plot, at) => (at === null ? "–" : clock(at)) },
          { label: "in", stroke: colour("accent"), width: 1.5, points: { show: false }, value },
          { label: "out", stroke: colour("discarding"), width: 1.5, dash: [5, 3], points: { show: false }, value },
        ],
      },
      this.data,
      this.place,
    );
  }

  close() {
    this.theme.removeEventListener("change", this.repaint);
    this.observer.disconnect();
    this.plot?.destroy();
  }
}
