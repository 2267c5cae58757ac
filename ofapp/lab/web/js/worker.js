// Python and the laboratory, beside the page: each message is a request, and is answered in its order.

import { loadPyodide } from "../pyodide/pyodide.mjs";

async function begin() {
  const at = (path) => new URL(path, import.meta.url).href;
  const core = fetch(at("../core.zip")).then((answer) => answer.arrayBuffer());
  const python = await loadPyodide({ indexURL: at("../pyodide/") });
  python.unpackArchive(await core, "zip", { extractDir: "/core" });
  python.runPython("import sys; sys.path.insert(0, '/core')");
  return python.pyimport("ofapp.lab.session").Session();
}

const session = begin();

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ answer: JSON.parse((await session).handle(JSON.stringify(data))) });
  } catch (error) {
    self.postMessage({ failed: String(error) });
  }
};
