// Queries of several views about the whole network.

import { get } from "./api.js";
import { plural } from "./words.js";

export async function bridges(signal) {
  return (await get(["bridges"], {}, signal)).bridges;
}

// {bridges, links, neighbours}
export const topology = (signal) => get(["topology"], {}, signal);

// The links that end at a port, by "datapath id/port number": {link, mine, other}
export function linksByPort(links) {
  const found = new Map();
  for (const link of links) {
    for (const [mine, other] of [["a", "b"], ["b", "a"]]) {
      const end = link[mine];
      found.set(`${end.datapath_id}/${end.port.number}`, { link, mine, other });
    }
  }
  return found;
}

export const isBlocked = (side) => side !== null && side !== undefined && side.state === "discarding";

export function linkState(link) {
  // forwarding, learning, discarding; unknown without spanning tree; away where an end's switch is.
  if (!link.a.connected || !link.b.connected) return "away";
  const sides = [link.stp?.a, link.stp?.b].filter(Boolean);
  if (!sides.length) return "unknown";
  if (sides.some(isBlocked)) return "discarding";
  return sides.some((side) => side.state === "learning") ? "learning" : "forwarding";
}

// Known problems of a switch, in sentences.
export function problemsOf(bridge) {
  const found = [];
  if (!bridge.connected) found.push("its switch is away");
  if (bridge.standby) found.push(`another controller is its master: ${bridge.standby}`);
  if (bridge.connected && !bridge.standby && !bridge.in_line) found.push("the switch does not hold all that it should yet");
  found.push(...bridge.refused.map((what) => `the switch refuses: ${what}`));
  found.push(...bridge.guarded.map(({ port, guards }) => `${port.name} is closed by ${guards.join(", ")}`));
  if (bridge.fdb.refused) found.push(`${plural(bridge.fdb.refused, "sighting")} not learned, as the bridge was full`);
  for (const vlan of bridge.limits.vlans) {
    if (vlan.dropping) found.push(`VLAN ${vlan.vlan} has reached its limit of ${plural(vlan.limit, "address", "addresses")} and drops frames of others`);
  }
  return found;
}
