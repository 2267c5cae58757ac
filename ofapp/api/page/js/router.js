// The current view, from the fragment: #/bridge/0000000000000001/fdb?port=eth1

export function parse(fragment) {
  const [path, query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const decode = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

export function link(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const go = (path, query) => {
  location.hash = link(path, query);
};

// Change the query of the view, without a new entry in the browser's history.
export function amend(route, query) {
  const all = { ...Object.fromEntries(route.query), ...query };
  history.replaceState(null, "", link(route.path, all));
  route.query = parse(location.hash).query;
}
