// The way to a host: each switch knows by which port it is reached, and the map where that port leads.

import { get } from "./api.js";
import { linksByPort } from "./network.js";

// All that is known of an address: [{datapath_id, bridge, vlan, port, type, ...}]
export async function entriesOf(mac, signal) {
  return (await get(["fdb"], { mac, limit: 1000 }, signal)).entries;
}

// Where it is plugged in: entries whose port leads to no switch of ours.
export function homes(entries, map) {
  const links = linksByPort(map.links);
  return entries.filter((entry) => !links.has(`${entry.datapath_id}/${entry.port.number}`));
}

// {hops: [{datapath_id, entry, link or null}], complete}: from a switch on, port by port.
export function follow(entries, map, from, vlan) {
  const links = linksByPort(map.links);
  const fits = (entry) => entry.vlan === vlan || entry.vlan === null;
  const hops = [];
  const seen = new Set();
  for (let here = from; here && !seen.has(here); ) {
    seen.add(here);
    const entry = entries.find((own) => own.datapath_id === here && fits(own));
    if (!entry) return { hops: [...hops, { datapath_id: here, entry: null, link: null }], complete: false };
    const next = links.get(`${here}/${entry.port.number}`);
    hops.push({ datapath_id: here, entry, link: next?.link ?? null });
    if (!next) return { hops, complete: true };
    here = next.link[next.other].datapath_id;
  }
  return { hops, complete: false };
}

// The switch from which most is to be seen: the root, or the one that is the farthest away.
export function farthest(entries, map, vlan) {
  const ways = map.bridges
    .map((bridge) => ({ id: bridge.datapath_id, way: follow(entries, map, bridge.datapath_id, vlan) }))
    .filter(({ way }) => way.complete);
  ways.sort((a, b) => b.way.hops.length - a.way.hops.length);
  return ways[0]?.id ?? null;
}

export async function findWay(mac, map, from, signal) {
  const entries = await entriesOf(mac, signal);
  const [home] = homes(entries, map);
  if (!home) return null;
  const start = from ?? farthest(entries, map, home.vlan);
  return start ? follow(entries, map, start, home.vlan) : null;
}
