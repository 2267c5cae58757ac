// Layout of the map, by dagre: layers from the root down, and links that avoid boxes.  It is stretched
// until it fills the canvas.  The same network always gets the same layout.

import { Graph, layout } from "../vendor/dagre/dagre.esm.js";

const MANY = 8; // leaf switches of one neighbour, beyond which they are placed in several rows
const MOST = 400; // bends for these rows: a layout with more takes seconds
const LARGE = 150; // switches, from which on only one direction is tried and layers are not balanced
const BESIDE = 4; // distance of a bend from a box: a link that bends at the border is not drawn
const ISLAND = 40; // between parts that are not connected
const EDGE = 12; // free space at the border of the canvas
const STRETCH = 6; // times at most

// nodes: Map id -> {width, height, root}; edges: [{id, a, b}]; room: {width, height} of the canvas.
// Returns {nodes: Map id -> {x, y}, edges: Map id -> {from: id of a node, points}, scale: how many times
// as large as the canvas it is at least, and 1 if it fits}.
export function arranged(nodes, edges, room) {
  const near = neighbours(nodes, edges);
  const parts = islands(nodes, near).map((part) => best(part, nodes, edges, near, room));
  const found = side(parts, room);
  const size = (axis, own) => Math.max(...[...found.nodes.values()].map((at) => at[axis])) - Math.min(...[...found.nodes.values()].map((at) => at[axis])) + own;
  const scale = Math.max(1, size("x", 60) / room.width, size("y", 40) / room.height); // what does not fit is drawn smaller
  return { ...stretched(found, nodes, { width: room.width * scale, height: room.height * scale }), scale };
}

// Fill the canvas in both directions: places move apart, and boxes keep their size.
function stretched({ nodes: at, edges }, nodes, room) {
  const along = (axis, size) => {
    const sides = [...at].flatMap(([id, own]) => [own[axis] - nodes.get(id)[size] / 2, own[axis] + nodes.get(id)[size] / 2]);
    const middles = [...at.values()].map((own) => own[axis]);
    const [low, high] = [Math.min(...middles), Math.max(...middles)];
    const boxes = Math.max(...sides) - Math.min(...sides) - (high - low);
    return high > low ? Math.min(STRETCH, Math.max(1, (room[size] - 2 * EDGE - boxes) / (high - low))) : 1;
  };
  const [wide, tall] = [along("x", "width"), along("y", "height")];
  const moved = ({ x, y }) => ({ x: x * wide, y: y * tall });
  return {
    nodes: new Map([...at].map(([id, own]) => [id, moved(own)])),
    edges: new Map([...edges].map(([id, own]) => [id, { ...own, points: own.points.map(moved) }])),
  };
}

function neighbours(nodes, edges) {
  const near = new Map([...nodes.keys()].map((id) => [id, new Set()]));
  for (const { a, b } of edges) {
    near.get(a)?.add(b);
    near.get(b)?.add(a);
  }
  return near;
}

// Connected components, each as a Map: id -> distance from its root in links.
function islands(nodes, near) {
  const order = [...nodes.keys()].sort(
    (a, b) => Number(nodes.get(b).root) - Number(nodes.get(a).root) || near.get(b).size - near.get(a).size || (a < b ? -1 : 1),
  );
  const seen = new Set();
  const found = [];
  for (const first of order) {
    if (seen.has(first)) continue;
    const depth = new Map([[first, 0]]);
    seen.add(first);
    for (const id of depth.keys()) {
      for (const other of [...near.get(id)].sort()) {
        if (seen.has(other)) continue;
        seen.add(other);
        depth.set(other, depth.get(id) + 1);
      }
    }
    found.push(depth);
  }
  return found;
}

// From top to bottom or from left to right, whichever can be shown larger.
function best(depth, nodes, edges, near, room) {
  const ways = (depth.size > LARGE ? ["TB"] : ["TB", "LR"]).map((direction) => one(depth, nodes, edges, near, direction));
  const scale = ({ width, height }) => Math.min(room.width / width, room.height / height, 1);
  return ways[1] && scale(ways[1]) > scale(ways[0]) * 1.15 ? ways[1] : ways[0];
}

function one(depth, nodes, edges, near, direction) {
  const graph = new Graph({ multigraph: true });
  const ranker = depth.size > LARGE ? "longest-path" : "network-simplex";
  graph.setGraph({ rankdir: direction, nodesep: 14, edgesep: 10, ranksep: 32, marginx: 8, marginy: 8, ranker });
  for (const id of depth.keys()) graph.setNode(id, { ...nodes.get(id) });
  const rows = staggered(depth, near);
  for (const { id, a, b } of edges) {
    if (!depth.has(a) || a === b) continue;
    const [upper, lower] = depth.get(a) < depth.get(b) || (depth.get(a) === depth.get(b) && a < b) ? [a, b] : [b, a];
    graph.setEdge(upper, lower, { minlen: 1 + (rows.get(lower) ?? 0) }, id);
  }
  layout(graph);
  const { width, height } = graph.graph();
  const places = new Map(graph.nodes().map((id) => [id, graph.node(id)]));
  const links = graph.edges().map((edge) => [edge, graph.edge(edge)]);
  const across = direction === "TB" ? ["y", "height"] : ["x", "width"];
  const depths = layers(places.values(), across);
  return {
    width, height,
    nodes: new Map([...places].map(([id, { x, y }]) => [id, { x, y }])),
    edges: new Map(links.map(([{ v, w, name }, { points }]) => {
      const inner = points.slice(1, -1);
      const turns = [places.get(v), ...inner, places.get(w)].flatMap((own) => through(own, depths, across[0]));
      return [name, { from: v, points: [places.get(v), ...turns.slice(1, -1), places.get(w)].map((own) => ({ x: own.x, y: own.y })) }];
    })),
  };
}

// Depth of each layer, by the position of its middle.
function layers(boxes, [along, size]) {
  const found = new Map();
  for (const box of boxes) {
    const at = Math.round(box[along]);
    found.set(at, Math.max(found.get(at) ?? 0, box[size] ?? 0));
  }
  return found;
}

// A link crosses a layer in a straight line and bends only between layers, so it crosses no box.
function through(point, depths, along) {
  const half = (depths.get(Math.round(point[along])) ?? 0) / 2 + BESIDE;
  return [-half, half].map((more) => ({ x: point.x, y: point.y, [along]: point[along] + more }));
}

// Row of each leaf, where many leaves have the same neighbour.
function staggered(depth, near) {
  const below = new Map();
  for (const id of depth.keys()) {
    const [only, ...others] = near.get(id);
    if (only === undefined || others.length || depth.get(id) === 0) continue;
    below.set(only, [...(below.get(only) ?? []), id]);
  }
  const rows = new Map();
  const leaves = [...below.values()].reduce((sum, ids) => sum + ids.length, 0);
  const most = Math.max(1, Math.floor(MOST / leaves)); // each row adds a bend to each link
  const count = leaves > MANY ? Math.min(most, Math.ceil(Math.sqrt(leaves / 4))) : 1;
  for (const ids of below.values()) ids.sort().forEach((id, index) => rows.set(id, index % count));
  return rows;
}

// Place components beside each other, in rows as wide as the canvas.
function side(parts, room) {
  const nodes = new Map();
  const edges = new Map();
  const area = parts.reduce((sum, own) => sum + (own.width + ISLAND) * (own.height + ISLAND), 0);
  const widest = Math.max(...parts.map((own) => own.width), Math.sqrt((area * room.width) / room.height));
  let [left, top, tall] = [0, 0, 0];
  for (const part of parts) {
    if (left > 0 && left + part.width > widest) [left, top, tall] = [0, top + tall + ISLAND, 0];
    const moved = ({ x, y }) => ({ x: x + left, y: y + top });
    for (const [id, place] of part.nodes) nodes.set(id, moved(place));
    for (const [id, own] of part.edges) {
      edges.set(id, { ...own, points: own.points.map(moved) });
    }
    left += part.width + ISLAND;
    tall = Math.max(tall, part.height);
  }
  return { nodes, edges };
}
