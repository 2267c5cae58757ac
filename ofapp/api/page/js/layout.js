// Where switches stand on the map: in layers by how many links they are from a root, those of one layer
// in an order that lets few links cross.  The same network always looks the same.

const ACROSS = 210;
const DOWN = 135;
const SWEEPS = 6;

// bridges: [{datapath_id, root}], links: [{a: {datapath_id}, b: {datapath_id}}]
// Gives a Map: datapath id -> {x, y}.
export function layered(bridges, links) {
  const near = new Map(bridges.map((bridge) => [bridge.datapath_id, new Set()]));
  for (const { a, b } of links) {
    near.get(a.datapath_id)?.add(b.datapath_id);
    near.get(b.datapath_id)?.add(a.datapath_id);
  }
  const roots = bridges.filter((bridge) => bridge.root).map((bridge) => bridge.datapath_id);
  const placed = new Map();
  let left = 0;
  const single = [];
  for (const island of islands(bridges, near, roots)) {
    if (island.length === 1 && near.get(island[0][0]).size === 0) {
      single.push(island[0][0]);
      continue;
    }
    left += place(island, near, placed, left) + ACROSS * 0.4;
  }
  grid(single, placed, left);
  return placed;
}

// Each part that hangs together, as layers of datapath ids.
function* islands(bridges, near, roots) {
  const seen = new Set();
  const degree = (id) => near.get(id).size;
  const others = bridges.map((bridge) => bridge.datapath_id).sort((a, b) => degree(b) - degree(a) || (a < b ? -1 : 1));
  for (const first of [...roots.filter((id) => degree(id)), ...others]) {
    if (seen.has(first)) continue;
    seen.add(first);
    const layers = [[first]];
    for (;;) {
      const next = [];
      for (const id of layers.at(-1)) {
        for (const other of [...near.get(id)].sort()) {
          if (!seen.has(other) && near.has(other)) {
            seen.add(other);
            next.push(other);
          }
        }
      }
      if (!next.length) break;
      layers.push(next);
    }
    yield layers.length === 1 && layers[0].length === 1 ? [layers[0]] : layers;
  }
}

// Places one island; gives its width.
function place(layers, near, placed, left) {
  const order = new Map();
  const remember = (layer) => layer.forEach((id, index) => order.set(id, (index + 0.5) / layer.length));
  layers.forEach(remember);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const turn = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of turn) {
      const middle = new Map(
        layer.map((id) => {
          const others = [...near.get(id)].filter((other) => order.has(other) && !layer.includes(other)).map((other) => order.get(other));
          const mean = others.length ? others.reduce((sum, own) => sum + own, 0) / others.length : order.get(id);
          return [id, mean];
        }),
      );
      layer.sort((a, b) => middle.get(a) - middle.get(b));
      remember(layer);
    }
  }
  // A layer that is too wide for a screen stands in several rows, each a little aside.
  const all = layers.reduce((sum, layer) => sum + layer.length, 0);
  const most = Math.max(6, Math.ceil(Math.sqrt(all) * 1.6));
  const width = Math.min(most, Math.max(...layers.map((layer) => layer.length))) * ACROSS;
  let y = 0;
  for (const layer of layers) {
    const rows = Math.ceil(layer.length / most);
    const step = width / Math.ceil(layer.length / rows);
    layer.forEach((id, index) => {
      const row = index % rows;
      const column = Math.floor(index / rows);
      const aside = rows > 1 ? (row / rows) * step * 0.5 : 0;
      placed.set(id, { x: left + (column + 0.5) * step + aside, y: y + row * DOWN * 0.7 });
    });
    y += (rows - 1) * DOWN * 0.7 + DOWN;
  }
  return width;
}

// Whether a straight line between two would run behind what stands between them.
export function isBehindOthers(one, other) {
  return Math.abs(one.y - other.y) < DOWN / 4 && Math.abs(one.x - other.x) > ACROSS * 1.3;
}

function grid(ids, placed, left) {
  const columns = Math.max(1, Math.ceil(Math.sqrt(ids.length)));
  ids.forEach((id, index) => {
    placed.set(id, { x: left + (index % columns + 0.5) * ACROSS, y: Math.floor(index / columns) * DOWN * 0.7 });
  });
}
