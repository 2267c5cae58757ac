// A tab of a switch that is drawn again every few seconds, and at once after a change.

import { html, render } from "./lit.js";
import { every } from "./poll.js";

// draw(after): what the tab shows; `after` is called after a change.
export function polled(place, { signal, refresh }, seconds, draw) {
  const look = every(
    seconds,
    async () => {
      const shown = await draw(after);
      if (!signal.aborted) render(shown, place);
    },
    signal,
    (error) => render(html`<p class="problem">${error.message}</p>`, place),
  );
  async function after() {
    await look();
    refresh();
  }
  return { update: look };
}
