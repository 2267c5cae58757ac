// Speaks to /v1, as whoever is logged in: the session's cookie goes along by itself, and no script can
// read it.  An error is a Problem, in the API's own words (RFC 9457).

const BASE = new URL("v1/", document.baseURI);

export class Problem extends Error {
  // status 0: no answer came at all.
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// Told when the API does not know who asks (any more).
export const rejected = new EventTarget();

// When the API answered last, whether it has not since, and since when requests wait for an answer.
export const heard = { at: null, silent: false, waiting: new Set() };

export function address(path, query = {}) {
  // path: segments, each of which is encoded, as names are anybody's text.
  const url = new URL(path.map(encodeURIComponent).join("/"), BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

async function problem(answer) {
  let detail = `${answer.status} ${answer.statusText}`;
  try {
    detail = (await answer.json()).detail || detail;
  } catch {
    // An answer of somebody between us and the API.
  }
  return new Problem(answer.status, detail);
}

export async function request(method, path, { query, body, headers = {}, signal } = {}) {
  const options = { method, signal, headers, credentials: "same-origin", redirect: "error" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...headers, "Content-Type": "application/json" };
  }
  const asked = { at: Date.now() };
  heard.waiting.add(asked);
  let answer;
  try {
    answer = await fetch(address(path, query), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard.silent = true;
    throw new Problem(0, "The controller does not answer.");
  } finally {
    heard.waiting.delete(asked);
  }
  heard.silent = false;
  if (!answer.ok) {
    const told = await problem(answer);
    if (answer.status === 401) rejected.dispatchEvent(new Event("rejected"));
    throw told;
  }
  return answer;
}

export async function call(method, path, options) {
  const answer = await request(method, path, options);
  const told = answer.status === 204 ? null : await answer.json();
  if (method === "GET") heard.at = Date.now();
  return told;
}

export const get = (path, query, signal) => call("GET", path, { query, signal });
export const post = (path, query, body) => call("POST", path, { query, body });
export const put = (path, body) => call("PUT", path, { body });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });

export function portText(port, ports) {
  // How a path names a port: by its number, unless another port is called so (a name goes first), and
  // by its name then.  What a switch calls its ports may be "..", or have a slash.
  const number = String(port.number);
  return ports.some((own) => own.name === number && own.number !== port.number)
    ? port.name
    : number;
}
