// Requests to /v1.  The browser adds the session's cookie, which no script can read.  Errors are
// thrown as Problem, with the API's text (RFC 9457).

const BASE = new URL("v1/", document.baseURI);

export class Problem extends Error {
  // status 0: there was no answer.
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// Dispatched when the API rejects the session.
export const rejected = new EventTarget();

// Time of the API's last answer, whether a request has failed since, and the requests that wait.
export const heard = { at: null, silent: false, waiting: new Set() };

export function address(path, query = {}) {
  // path: segments, which are encoded: names may contain any character.
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
    // An answer of a proxy, not of the API.
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
    const error = await problem(answer);
    if (answer.status === 401) rejected.dispatchEvent(new Event("rejected"));
    throw error;
  }
  return answer;
}

export async function call(method, path, options) {
  const answer = await request(method, path, options);
  const content = answer.status === 204 ? null : await answer.json();
  if (method === "GET") heard.at = Date.now();
  return content;
}

export const get = (path, query, signal) => call("GET", path, { query, signal });
export const post = (path, query, body) => call("POST", path, { query, body });
export const put = (path, body) => call("PUT", path, { body });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });

export function portText(port, ports) {
  // A port in a path: its number, or its name if another port has that number as its name (names take
  // precedence).  Port names may be "..", or contain a slash.
  const number = String(port.number);
  return ports.some((own) => own.name === number && own.number !== port.number)
    ? port.name
    : number;
}
