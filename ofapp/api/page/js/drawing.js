// What the map shows: switches with their hosts, groups of alike switches, and links with their state.

import { hostsOf, linkEnds, linkState } from "./network.js";
import { count, plural, ROLE_LETTERS, unmirrored } from "./words.js";

export const MANY = 40; // switches, from which on some are one group; and boxes on the map, about
const ALIKE = 4; // leaves of a group at least
export const GROUP = "g:"; // begins the id of a group

// The same for a link and for the missing cable between its ports: [[datapath id, port name], ...]
const idOf = (ends) => ends.map((own) => own.join("/")).join("-");
export const linkId = ({ a, b }) => idOf([a, b].map((own) => [own.datapath_id, own.port.name]));

// Cables that were there and are missing or carry nothing, from the list of problems: [{ends: [[datapath id, port], ...], seen}]
export function missingCables(problems) {
  return problems
    .filter((own) => ["cable.missing", "cable.silent"].includes(own.kind) && own.data.ends)
    .map((own) => ({ ends: own.data.ends, seen: own.acknowledged !== null, message: own.message }));
}

// Groups of switches: Map datapath id -> id of its group.  Leaves that have the same neighbours are one;
// so are all switches below one of the last level, where the map has too many boxes otherwise; and so are
// disconnected switches without links.
// opened: groups whose switches are shown one by one; named: switches that are never in a group.
// most: boxes, about, where there are many switches
export function groups(map, { opened, most }, named) {
  const near = new Map(map.bridges.map((own) => [own.datapath_id, new Set()]));
  for (const { a, b } of map.links) {
    near.get(a.datapath_id)?.add(b.datapath_id);
    near.get(b.datapath_id)?.add(a.datapath_id);
  }
  const alike = new Map();
  for (const { datapath_id: id, root, connected } of map.bridges) {
    const beside = [...near.get(id)].sort();
    if (!connected && !beside.length) alike.set(GROUP, [...(alike.get(GROUP) ?? []), id]);
    if (map.bridges.length < MANY || root || !beside.length || named.has(id) || beside.some((other) => near.get(other).size <= near.get(id).size)) continue;
    const key = GROUP + beside.join(",");
    alike.set(key, [...(alike.get(key) ?? []), id]);
  }
  const found = [...alike].filter(([key, ids]) => ids.length >= (key === GROUP ? 2 : ALIKE));
  const boxes = map.bridges.length - found.reduce((sum, [, ids]) => sum + ids.length - 1, 0);
  const group = new Map(found.filter(([key]) => !opened.has(key)).flatMap(([key, ids]) => ids.map((id) => [id, key])));
  const below = boxes > most && map.bridges.length >= MANY ? branches(map, near, opened, most) : new Map();
  const numbers = new Map();
  for (const key of below.values()) numbers.set(key, (numbers.get(key) ?? 0) + 1);
  for (const [id, key] of below) if (!named.has(id) && numbers.get(key) > 1) group.set(id, key);
  return group;
}

// The group of each switch below the last level that fits: the switches below one of that level, or below
// one that an opened group has shown.
function branches(map, near, opened, most) {
  const above = new Map(); // the switch before it on the shortest path from the root
  const levels = [];
  const first = [...map.bridges].sort((one, other) => Number(other.root ?? false) - Number(one.root ?? false) || near.get(other.datapath_id).size - near.get(one.datapath_id).size);
  for (const { datapath_id: start } of first) {
    if (above.has(start)) continue;
    above.set(start, null);
    for (let [level, at] = [[start], 0]; level.length; at += 1) {
      levels[at] = [...(levels[at] ?? []), ...level];
      const next = [];
      for (const id of level) for (const other of [...near.get(id)].sort()) if (!above.has(other)) above.set(other, id), next.push(other);
      level = next;
    }
  }
  let last = 0; // level: its switches have a group each, so they count twice
  for (let shown = levels[0].length; last + 1 < levels.length && shown + 2 * levels[last + 1].length <= most; last += 1) shown += levels[last + 1].length;
  const found = new Map();
  const open = new Set(levels[last].filter((id) => opened.has(`${GROUP}${id}/`)));
  levels.slice(last + 1).forEach((level) => level.forEach((id) => {
    const upper = above.get(id);
    if (open.has(upper)) {
      if (opened.has(`${GROUP}${id}/`)) open.add(id);
    } else found.set(id, found.get(upper) ?? `${GROUP}${upper}/`);
  }));
  return found;
}

function end(port, side) {
  const letter = side ? (ROLE_LETTERS[side.role] ?? "") : "";
  return `${unmirrored(port.name)} ${letter}`.trim();
}

// Frames on a link, in the laboratory: classes for their directions
const carrying = ({ carried }) => (carried ? [carried.forth && "frame-forth", carried.back && "frame-back"] : []);

const WORDS = { discarding: "blocked", learning: "learning", missing: "down" };

// {nodes: Map id -> {label, root, classes}, edges: [{id, a, b, classes, ends, word, load}]}
// known: {bridges: of /v1/bridges, map: of /v1/topology, problems: that stand, loads: Map or null}
// shown: {outside: neighbours too; opened, most: see groups}
export function contents({ bridges, map, problems, loads }, { outside, opened, most = MANY }) {
  const open = problems.filter((own) => own.acknowledged === null);
  const cables = missingCables(problems);
  const troubled = new Set([...open.map((own) => own.datapath_id), ...cables.flatMap((own) => own.ends.map(([id]) => id))]);
  const group = groups(map, { opened, most }, troubled);
  const edges = linksOf({ map, loads, group, cables });
  const ends = linkEnds(map);
  const about = new Map(bridges.map((own) => [own.datapath_id, own]));
  const nodes = new Map();
  const members = new Map();
  // above: the root for the layout, which stays while the map shows another time
  for (const { datapath_id: id, name, connected, root, changed, above = root } of map.bridges) {
    const own = about.get(id);
    const hosts = own ? hostsOf(own, ends) : 0;
    if (group.has(id)) {
      const key = group.get(id);
      const now = members.get(key) ?? { number: 0, hosts: 0, first: name };
      members.set(key, { ...now, number: now.number + 1, hosts: now.hosts + hosts, last: name });
      continue;
    }
    const worst = open.filter((one) => one.datapath_id === id).map((one) => one.severity);
    const mark = worst.includes("error") ? "error" : worst.includes("warning") ? "warning" : "";
    const sign = { error: "✖ ", warning: "⚠ " }[mark] ?? "";
    const second = [root && "root", hosts > 0 && `${connected ? "●" : "○"} ${count(hosts)}`].filter(Boolean).join(" · ");
    const label = `${sign}${unmirrored(name)}\n${second}`.trim();
    // A box is as large with a sign and hosts as without, so that the layout does not change.
    const tall = `✖ ${unmirrored(name)}\n${above ? "root · " : ""}● ${count(Math.max(hosts, 99))}`;
    nodes.set(id, { label, tall, root: Boolean(above), classes: [root && "root", mark, !connected && "disconnected", changed && "changed"].filter(Boolean).join(" ") });
  }
  for (const [key, { number, hosts, first, last }] of members) {
    nodes.set(key, { label: `${plural(number, "switch", "switches")}${key === GROUP ? " disconnected" : ""}\n${unmirrored(first)} …\n${unmirrored(last)}${hosts ? `\n● ${count(hosts)}` : ""}`, root: false, classes: key === GROUP ? "group disconnected" : "group" });
  }
  for (const own of outside ? map.neighbours : []) {
    if (!nodes.has(own.datapath_id)) continue;
    const id = `n:${own.chassis_id}`;
    const label = unmirrored(own.lldp?.system_name || own.chassis_id);
    if (!nodes.has(id)) nodes.set(id, { label, root: false, classes: "neighbour" });
    edges.push({ id: `${id}@${own.datapath_id}/${own.port.number}/${own.port_id ?? ""}`, a: own.datapath_id, b: id, classes: [own.down ? "missing" : "outside", ...carrying(own)].filter(Boolean).join(" "), load: null, ends: [end(own.port, null), unmirrored(own.port_id ?? "")], word: own.carried?.text ?? (own.down ? WORDS.missing : "") });
  }
  return { nodes, edges: edges.filter(({ a, b }) => nodes.has(a) && nodes.has(b)) };
}

function linksOf({ map, loads, group, cables }) {
  const edges = new Map();
  const at = ({ datapath_id: id }) => group.get(id) ?? id;
  const lost = new Map(cables.map((own) => [idOf(own.ends), own]));
  const numbers = new Map();
  for (const link of map.links) {
    const { a, b, stp, lag } = link;
    const cable = lost.get(linkId(link));
    lost.delete(linkId(link));
    const state = cable ? "missing" : linkState(link);
    const grouped = group.has(a.datapath_id) || group.has(b.datapath_id);
    const id = grouped ? [at(a), at(b)].sort().join("=") : linkId(link);
    const alike = edges.get(id);
    numbers.set(id, (numbers.get(id) ?? 0) + 1);
    if (alike) {
      if (state === "forwarding") Object.assign(alike, { classes: "forwarding" });
      Object.assign(alike, { ends: ["", ""], word: plural(numbers.get(id), "link") });
      continue;
    }
    const classes = [state, cable?.seen && "seen", lag && "lag", link.changed && "changed", ...carrying(link)].filter(Boolean).join(" ");
    edges.set(id, { id, a: at(a), b: at(b), classes, load: state === "forwarding" ? (loads?.get(linkId(link)) ?? null) : null, ends: [end(a.port, stp?.a), end(b.port, stp?.b)], word: cable ? "missing" : (link.carried?.text ?? WORDS[state] ?? "") });
  }
  for (const [id, { ends: [[a, one], [b, other]], seen }] of lost) {
    edges.set(id, { id, a, b, classes: seen ? "missing seen" : "missing", load: null, ends: [unmirrored(one), unmirrored(other)], word: "missing" });
  }
  // The order is that of the ends, so that a cable that goes missing keeps its place.
  return [...edges.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}
