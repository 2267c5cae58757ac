// Short messages that disappear after a while; problems stay until they are dismissed.

import { html, nothing, render, repeat } from "./lit.js";

const SECONDS = 6;
const TO_UNDO = 30; // seconds for a message with a button
let shown = [];
let next = 0;

function draw() {
  render(
    repeat(
      shown,
      (notice) => notice.key,
      (notice) => html`<div class="notice ${notice.kind}">
        <span>${notice.text}</span>
        ${notice.action ? html`<button class="small" @click=${() => (dismiss(notice.key), notice.action.act())}>${notice.action.text}</button>` : nothing}
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

// action: {text, act} of a button, or null
export function notify(text, kind = "done", action = null) {
  if (!action && shown.some((notice) => notice.text === text)) return;
  const key = next++;
  shown = [...shown.slice(-3), { key, text, kind, action }];
  draw();
  if (kind === "done") setTimeout(() => dismiss(key), (action ? TO_UNDO : SECONDS) * 1000);
}
