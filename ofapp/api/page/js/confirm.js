// Confirmation dialog that describes a change.  The browser's dialog element traps the focus, restores
// it, and closes on Escape.

import { html, render } from "./lit.js";
import { notify } from "./notices.js";

const dialog = document.getElementById("dialog");

// question: {title, says: [sentences], verb, fields, check: templates, act: async (form data) -> sentence}
export function confirm({ title, says, verb, fields = "", check = "", act }) {
  return new Promise((resolve) => {
    let answer = false;
    const submit = async (event) => {
      event.preventDefault();
      const given = new FormData(event.target);
      draw("", true);
      try {
        notify(await act(given));
        answer = true;
        dialog.close();
      } catch (error) {
        draw(error.message);
      }
    };
    const draw = (problem = "", busy = false) =>
      render(
        html`<form @submit=${submit}>
          <h2 id="dialog-title">${title}</h2>
          ${fields}
          <ul class="consequences">${says.map((sentence) => html`<li>${sentence}</li>`)}</ul>
          ${check}
          <p role="alert" class=${problem ? "problem" : "quiet"}>${problem}</p>
          <div class="buttons">
            <button type="button" @click=${() => dialog.close()}>Cancel</button>
            <button class="primary" type="submit" ?disabled=${busy}>${verb}</button>
          </div>
        </form>`,
        dialog,
      );
    draw();
    dialog.addEventListener("close", () => resolve(answer), { once: true });
    dialog.showModal();
    (dialog.querySelector("input, select") ?? dialog.querySelector(".buttons button")).focus();
  });
}
