// The search: MiniSearch over the sections (sections.js), in the browser.  Text is inserted as text.
"use strict";
/* global MiniSearch, SECTIONS */

const MOST = 12; // results shown
const form = document.querySelector("[role=search]");
const query = document.getElementById("query");
const found = document.getElementById("found");
let index = null;

function search(words) {
  if (!index) {
    index = new MiniSearch({
      fields: ["title", "page", "text"],
      storeFields: ["title", "page", "text"],
      // A word with dots, hyphens or underlines (`fdb.limit`, `--api-auth`) is found by its parts, too.
      tokenize: (text) => [...text.split(/[\s,;()[\]"'`]+/), ...text.split(/[^\p{L}\p{N}]+/u)],
      searchOptions: {
        boost: { title: 4, page: 3 },
        boostDocument: (id) => (/^(reference-|pipeline)/.test(id) ? 0.4 : 1), // tasks first
        prefix: true,
        combineWith: "AND",
        fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
      },
    });
    index.addAll(SECTIONS);
  }
  return index.search(words).slice(0, MOST);
}

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

// The part of a section around the first word that was found.
function excerpt(text, terms) {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, text.length) - 50);
  const start = places.length ? from : 0;
  return (start ? "…" : "") + text.slice(start, start + 170) + (text.length > start + 170 ? "…" : "");
}

function show() {
  const words = query.value.trim();
  found.hidden = !words;
  found.replaceChildren();
  if (!words) return;
  const results = search(words);
  for (const { id, page, title, text, terms } of results) {
    const link = element("a", "", element("b", title === page ? page : `${page}: ${title}`), element("p", excerpt(text, terms)));
    link.href = id;
    found.append(link);
  }
  if (!results.length) found.append(element("p", `Nothing has all of these words: ${words}`));
}

form.hidden = false;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
query.addEventListener("input", show);
query.addEventListener("focus", show);
document.addEventListener("click", (event) => {
  if (event.target.closest("#found a") || !event.target.closest("header")) found.hidden = true;
});
document.addEventListener("keydown", (event) => {
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "/" && document.activeElement !== query) query.focus();
  else if (event.key === "Escape") found.hidden = true;
  else if (event.key === "ArrowDown" && !found.hidden) links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "ArrowUp" && at >= 0) (links[at - 1] ?? query).focus();
  else return;
  event.preventDefault();
});

// Links to the network, where a controller serves these pages.
if (location.protocol !== "file:" && /\/guide\/[^/]*$/.test(location.pathname)) {
  document.querySelector("nav.network").hidden = false;
}
