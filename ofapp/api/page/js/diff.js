// Differences of two configurations, line by line, in the file's format.

// Format JSON values as YAML; keys keep their order.
export function lines(value, indent = "") {
  if (Array.isArray(value)) {
    return value.flatMap((own) => {
      if (own === null || typeof own !== "object") return [`${indent}- ${scalar(own)}`];
      const inner = lines(own, `${indent}  `);
      return inner.length ? [`${indent}- ${inner[0].trimStart()}`, ...inner.slice(1)] : [`${indent}- {}`];
    });
  }
  return Object.entries(value).flatMap(([key, own]) => {
    const name = `${indent}${scalar(key)}:`;
    if (own === null || typeof own !== "object") return [`${name} ${scalar(own)}`];
    const inner = lines(own, `${indent}  `);
    return inner.length ? [name, ...inner] : [`${name} ${Array.isArray(own) ? "[]" : "{}"}`];
  });
}

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  const plain = /^[A-Za-z_][A-Za-z0-9_ ./+-]*$/.test(value) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(value) && value === value.trim();
  return plain ? value : JSON.stringify(value);
}

// [{kind: "same" | "more" | "less", text}]: from `before` to `after`, by the longest common part.
export function compare(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [endA, endB] = [before.length, after.length];
  while (endA > start && endB > start && before[endA - 1] === after[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  const same = (text) => ({ kind: "same", text });
  return [...before.slice(0, start).map(same), ...middle(before.slice(start, endA), after.slice(start, endB)), ...before.slice(endA).map(same)];
}

const MOST = 4_000_000; // pairs of lines; beyond that everything is shown as replaced

function middle(a, b) {
  const less = (text) => ({ kind: "less", text });
  const more = (text) => ({ kind: "more", text });
  if (a.length * b.length > MOST) return [...a.map(less), ...b.map(more)];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      found.push({ kind: "same", text: a[i] });
      i += 1;
      j += 1;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      found.push(less(a[i++]));
    } else {
      found.push(more(b[j++]));
    }
  }
  return [...found, ...a.slice(i).map(less), ...b.slice(j).map(more)];
}
