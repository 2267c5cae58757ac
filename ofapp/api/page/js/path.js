// The path to a host: the port from each switch's FDB, and the next switch from the map.

import { get } from "./api.js";
import { linksByPort } from "./network.js";

// All entries of an address: [{datapath_id, bridge, vlan, port, type, ...}]
export async function entriesOf(mac, signal) {
  return (await get(["fdb"], { mac, limit: 1000 }, signal)).entries;
}

// Its access ports: entries whose port has no link to another bridge.
export function attachments(entries, map) {
  const links = linksByPort(map.links);
  return entries.filter((entry) => !links.has(`${entry.datapath_id}/${entry.port.number}`));
}

// {hops: [{datapath_id, entry, link or null}], complete}: from a switch on, hop by hop.
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

// The switch for the longest path: the root, or the most distant one.
export function farthest(entries, map, vlan) {
  const paths = map.bridges
    .map((bridge) => ({ id: bridge.datapath_id, path: follow(entries, map, bridge.datapath_id, vlan) }))
    .filter(({ path }) => path.complete);
  paths.sort((a, b) => b.path.hops.length - a.path.hops.length);
  return paths[0]?.id ?? null;
}

export async function findPath(mac, map, from, signal) {
  const entries = await entriesOf(mac, signal);
  const [at] = attachments(entries, map);
  if (!at) return null;
  const start = from ?? farthest(entries, map, at.vlan);
  return start ? follow(entries, map, start, at.vlan) : null;
}
