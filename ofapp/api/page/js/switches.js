// All switches as a table.

import { forgetAbsent } from "./actions.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { bridges, SHARED, topology } from "./network.js";
import { calmly, every } from "./poll.js";
import { link } from "./router.js";
import { session } from "./session.js";
import { SHAPES, standing } from "./standing.js";
import { Table } from "./table.js";
import { age, count } from "./words.js";

export const title = "Switches";

const FREQUENT = /^(stp|port|bridge|switch|fdb)\b/;

export async function show(place, route, signal) {
  render(html`<h1>Switches</h1><p class="problem" role="status" hidden></p><div class="bar"></div><div class="rows"></div>`, place);
  let trees = new Map();
  const problems = (bridge) => standing.open.filter((own) => own.datapath_id === bridge.datapath_id);
  const tree = (bridge) => trees.get(bridge.datapath_id);
  const table = new Table(place.querySelector(".rows"), {
    label: "Switches",
    key: (bridge) => bridge.datapath_id,
    empty: "No switch has connected yet.",
    columns: [
      { name: "name", title: "Switch", width: 18, line: 1, sort: (bridge) => bridge.name, cell: (bridge) => html`<a href=${link(["bridge", bridge.datapath_id])}>${bridge.name}</a>` },
      { name: "id", title: "Datapath id", width: 18, kind: "code", sort: (bridge) => bridge.datapath_id, cell: (bridge) => bridge.datapath_id },
      {
        name: "connected", title: "State", width: 22, line: 1, sort: (bridge) => Number(bridge.connected),
        cell: (bridge) => (bridge.connected
          ? html`<span class="badge forwarding"><span aria-hidden="true">●</span> ${bridge.standby ? "standby" : "connected"}</span>`
          : html`<span class="badge disabled"><span aria-hidden="true">○</span> disconnected ${age(bridge.away)}</span>`),
      },
      { name: "root", title: "Tree", width: 8, sort: (bridge) => Number(tree(bridge)?.root ?? false), cell: (bridge) => (tree(bridge)?.root ? html`<b>root</b>` : nothing) },
      { name: "learned", title: "Learned", width: 10, kind: "number", sort: (bridge) => bridge.fdb.learned, cell: (bridge) => count(bridge.fdb.learned) },
      { name: "static", title: "Static", width: 9, kind: "number", sort: (bridge) => bridge.fdb.static, cell: (bridge) => count(bridge.fdb.static) },
      { name: "peer", title: "Peer", width: 22, kind: "code", sort: (bridge) => bridge.peer ?? "", cell: (bridge) => bridge.peer ?? "" },
      { name: "problems", title: "Problems", width: 30, line: 2, sort: (bridge) => -problems(bridge).length, cell: (bridge) => problems(bridge).map((own) => html`<span class="severity ${own.severity}" title=${own.message}><span aria-hidden="true">${SHAPES[own.severity]}</span> ${own.message} </span>`) },
    ],
  });
  const problem = place.querySelector("p.problem");
  const look = every(
    10,
    async () => {
      const [known, map] = await Promise.all([bridges(signal), topology(signal)]);
      trees = new Map(map.bridges.map((bridge) => [bridge.datapath_id, bridge]));
      problem.hidden = true;
      table.set(known);
      const away = known.filter((bridge) => !bridge.connected).length;
      render(
        away && session.may("admin") ? html`<button @click=${() => forgetAbsent(away, look)}>Remove ${away === 1 ? "the disconnected switch" : `all ${away} disconnected switches`}…</button>` : nothing,
        place.querySelector(".bar"),
      );
    },
    signal,
    (error) => {
      problem.hidden = false;
      problem.textContent = error.message;
    },
  );
  standing.watch(() => table.draw(), signal);
  const soon = calmly(look, SHARED, signal);
  live.hear((event) => FREQUENT.test(event.kind) && soon(), signal);
}
