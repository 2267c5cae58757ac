// The stream of events, followed while the page is visible.
//
// It is read by fetch, not by EventSource: EventSource delivers only kinds of events with a registered
// listener; it hides why a stream was refused; and a new one cannot resume after the last event.  The
// page resumes after it was in the background, where it closes its connection: a browser has six
// connections to a host.

import { request } from "./api.js";

const WAIT = [1, 2, 5, 10, 20]; // seconds before the next attempt

export class EventReader {
  // Parse the text of a stream in pieces (HTML 9.2.6); returns complete events.
  constructor(lastId = null) {
    this.lastId = lastId;
    this.rest = "";
    this.data = [];
  }

  *read(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (this.data.length) yield this.data.join("\n");
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") this.data.push(value);
      if (field === "id") this.lastId = value;
    }
  }
}

export class Live {
  constructor() {
    this.state = "off"; // live, waiting, off
    this.severity = "info";
    this.lastId = null;
    this.listeners = new Set();
    this.watchers = new Set();
    this.running = null;
    document.addEventListener("visibilitychange", () => this.arrange());
  }

  // Call hear(event) for each event until the signal is aborted.
  hear(listener, signal) {
    this.listeners.add(listener);
    signal?.addEventListener("abort", () => this.listeners.delete(listener));
  }

  watch(watcher) {
    this.watchers.add(watcher);
  }

  start() {
    this.wanted = true;
    this.arrange();
  }

  stop() {
    this.wanted = false;
    this.lastId = null;
    this.arrange();
  }

  // debug: each BPDU of each port is also an event.
  setSeverity(severity) {
    if (severity === this.severity) return;
    this.severity = severity;
    this.running?.abort();
    this.running = null;
    this.arrange();
  }

  arrange() {
    const should = this.wanted && !document.hidden;
    if (should && !this.running) {
      this.running = new AbortController();
      this.follow(this.running.signal);
    } else if (!should && this.running) {
      this.running.abort();
      this.running = null;
      this.tell("off");
    }
  }

  tell(state) {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.watchers) watcher(state);
  }

  async follow(signal) {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.once(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted || error.status === 401) return;
      }
      this.tell("waiting");
      const seconds = WAIT[Math.min(failures++, WAIT.length - 1)];
      await new Promise((done) => {
        const timer = setTimeout(done, seconds * 1000);
        signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
      });
    }
  }

  async once(signal) {
    const headers = this.lastId === null ? {} : { "Last-Event-ID": this.lastId };
    const query = { severity: this.severity };
    const answer = await request("GET", ["events", "stream"], { query, headers, signal });
    const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader(this.lastId);
    for (;;) {
      const { value, done } = await pieces.read();
      if (done || signal.aborted) return;
      this.tell("live");
      for (const data of reader.read(value)) {
        const event = JSON.parse(data);
        for (const listener of [...this.listeners]) listener(event);
      }
      this.lastId = reader.lastId;
    }
  }
}

export const live = new Live();
