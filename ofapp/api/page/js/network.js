// Queries of several views about the whole network.

import { call } from "./api.js";

// An answer of the last second is new enough: all pages share it, as it costs the controller some time.
// A view that asks because of an event waits as long (calmly).
export const SHARED = 1000; // milliseconds
const headers = { "Cache-Control": `max-age=${SHARED / 1000}` };
export const shared = (path, query, signal) => call("GET", path, { query, signal, headers });

export async function bridges(signal) {
  return (await shared(["bridges"], {}, signal)).bridges;
}

// {bridges, links, neighbours}
export const topology = (signal) => shared(["topology"], {}, signal);

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

// Hosts: learned addresses at ports that lead to no other switch, where each is known once.
export function hostCount(known, map) {
  const ends = linkEnds(map);
  return known.reduce((sum, bridge) => sum + hostsOf(bridge, ends), 0);
}

// "datapath id/port name" of each end of a link
export const linkEnds = (map) => new Set(map.links.flatMap(({ a, b }) => [a, b].map((end) => `${end.datapath_id}/${end.port.name}`)));

// ends: see linkEnds
export function hostsOf({ datapath_id: id, fdb }, ends) {
  return Object.entries(fdb.learned_by_port).reduce((sum, [port, learned]) => sum + (ends.has(`${id}/${port}`) ? 0 : learned), 0);
}

export const isBlocked = (side) => side !== null && side !== undefined && side.state === "discarding";

export function linkState(link) {
  // forwarding, learning, discarding; unknown without spanning tree; disconnected where a switch is;
  // missing where an end is down at the time that is shown (timeline.js).
  if (!link.a.connected || !link.b.connected) return "disconnected";
  if (link.down) return "missing";
  const sides = [link.stp?.a, link.stp?.b].filter(Boolean);
  if (!sides.length) return "unknown";
  if (sides.some(isBlocked)) return "discarding";
  return sides.some((side) => side.state === "learning") ? "learning" : "forwarding";
}
