// Short messages that disappear after a while; problems stay until they are dismissed.

import { html, render, repeat } from "./lit.js";

const SECONDS = 6;
let shown = [];
let next = 0;

function draw() {
  render(
    repeat(
      shown,
      (notice) => notice.key,
      (notice) => html`<div class="notice ${notice.kind}">
        <span>${notice.text}</span>
        <button class="plain" aria-label="Dismiss" @click=${() => dismiss(notice.key)}>×</button>
      </div>`,
    ),
    document.getElementById("notices"),
  );
}

function dismiss(key) {
  shown = shown.filter((notice) => notice.key !== key);
  draw();
}

export function notify(text, kind = "done") {
  if (shown.some((notice) => notice.text === text)) return;
  const key = next++;
  shown = [...shown.slice(-3), { key, text, kind }];
  draw();
  if (kind === "done") setTimeout(() => dismiss(key), SECONDS * 1000);
}
