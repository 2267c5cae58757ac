// The frame of the page: login, navigation and the current view.

import { get, heard, rejected } from "./api.js";
import { html, nothing, render } from "./lit.js";
import { live } from "./live.js";
import { notify } from "./notices.js";
import { go, link, parse } from "./router.js";
import { session, showLogin } from "./session.js";
import { standing, standingBadge } from "./standing.js";
import { age } from "./words.js";

// A view is a module with show(place, route, signal) and, optionally, a title.  It draws into `place`,
// and stops when the signal is aborted.
const VIEWS = {
  problems: () => import("./problems.js"),
  map: () => import("./map.js"),
  switches: () => import("./switches.js"),
  bridge: () => import("./bridge.js"),
  hosts: () => import("./hosts.js"),
  fabrics: () => import("./fabrics.js"),
  search: () => import("./search.js"),
  events: () => import("./events.js"),
  config: () => import("./config.js"),
};

const NAV = [
  ["problems", "Problems"],
  ["map", "Map"],
  ["switches", "Switches"],
  ["hosts", "Hosts"],
  ["fabrics", "Fabrics"], // only where there are some
  ["events", "Events"],
  ["config", "Configuration"],
];

const LIVE_WORDS = {
  live: ["●", "live", "Events arrive as they happen."],
  waiting: ["◌", "no answer", "The controller does not answer; this is tried again."],
  off: ["○", "paused", "Nothing is followed now."],
};

const PATIENCE = 8000; // milliseconds without an answer

const main = document.getElementById("main");
const top = document.getElementById("top");
let running = null; // ends the view that is shown
let shownPath = null;
let hasFabrics = false;
let asking = null; // ends the requests for problems

function drawTop() {
  const here = parse(location.hash).path[0] ?? "problems";
  const [shape, word, about] = LIVE_WORDS[live.state];
  const { who } = session;
  render(
    html`<a class="brand" href="#/problems">ofapp</a>
      ${who
        ? html`${standingBadge(here === "problems")}<nav aria-label="Views">
              ${NAV.filter(([name]) => name !== "fabrics" || hasFabrics || here === name).map(
                ([name, title]) =>
                  html`<a href=${link([name])} aria-current=${name === here ? "page" : nothing}>${title}</a>`,
              )}
              <a href="guide/">Documentation</a>
            </nav>
            <form role="search" @submit=${search}>
              <input id="search" name="q" type="search" aria-label="Find a MAC, vendor, port or switch"
                placeholder="Name, MAC, IP, vendor, port ( / )" autocomplete="off" spellcheck="false" maxlength="64">
            </form>
            <span class="live ${live.state}" title=${about}><span aria-hidden="true">${shape}</span> ${word}</span>
            <span class="age" title="When the controller sent this data"></span>
            ${who.known
              ? html`<span class="who">${who.name}, ${who.role}</span>`
              : html`<span class="who" title="No login required: all callers are administrators">No login required<span class="unseen">: all callers are administrators</span></span>`}
            ${who.session ? html`<button class="plain" @click=${logOut}>Log out</button>` : nothing}`
        : nothing}`,
    top,
  );
}

// Age of the data that is shown; without answers of the controller it may be outdated.
function drawAge() {
  if (!session.who || heard.at === null) return;
  const old = age((Date.now() - heard.at) / 1000);
  const waits = [...heard.waiting].some(({ at }) => Date.now() - at > PATIENCE);
  const stale = heard.silent || waits || live.state === "waiting";
  document.body.classList.toggle("stale", stale);
  const place = top.querySelector(".age");
  if (place) place.textContent = old === "now" ? "data is current" : `data ${old} old`;
  const warning = document.getElementById("stale");
  const since = new Date(heard.at).toLocaleTimeString();
  const text = stale ? `The controller does not answer. What is shown is of ${since} and may not be true any more.` : "";
  if (warning.textContent !== text) warning.textContent = text;
  warning.hidden = !stale;
}

function search(event) {
  event.preventDefault();
  const text = event.target.elements.q.value.trim();
  if (text) go(["search"], { q: text });
}

async function logOut() {
  await session.end().catch((error) => notify(error.message, "problem"));
  live.stop();
  askWho();
}

function logIn() {
  running?.abort();
  asking?.abort();
  session.who = null;
  live.stop();
  drawTop();
  document.title = "Log in · ofapp";
  showLogin(fresh("login"), begin);
}

// A new element to draw into: lit-html keeps state in an element, so views must not share one.
function fresh(name = "") {
  const place = document.createElement("div");
  place.className = `view ${name}`;
  main.replaceChildren(place);
  return place;
}

async function askWho() {
  try {
    await session.load();
    begin();
  } catch (error) {
    if (error.status === 401) return;
    render(html`<p class="problem" role="alert">${error.message}</p>`, fresh());
    setTimeout(askWho, 5000);
  }
}

function begin() {
  live.start();
  asking?.abort();
  asking = new AbortController();
  standing.follow(asking.signal);
  shownPath = null;
  route();
  findFabrics();
}

async function findFabrics() {
  const { fabrics } = await get(["fabrics"]).catch(() => ({ fabrics: [] }));
  hasFabrics = fabrics.length > 0;
  drawTop();
}

async function route() {
  if (!session.who) return;
  const route = parse(location.hash);
  const name = route.path[0] ?? "problems";
  const load = VIEWS[name] ?? VIEWS.problems;
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  drawTop();
  try {
    const view = await load();
    if (signal.aborted) return;
    const place = fresh(name);
    document.title = `${view.title ?? name} · ofapp`;
    await view.show(place, route, signal);
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    render(html`<p class="problem" role="alert">${error.message}</p>`, fresh());
  }
  const path = route.path.slice(0, 2).join("/");
  if (shownPath !== null && path !== shownPath) main.focus({ preventScroll: true });
  shownPath = path;
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment is the route's
  main.focus();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea, dialog");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("search")?.focus();
    document.getElementById("search")?.select(); // what is typed replaces the last search
  }
});
addEventListener("hashchange", route);
addEventListener("unhandledrejection", (event) => {
  // A request that ended with the view that had made it.
  if (event.reason?.name === "AbortError") event.preventDefault();
});
rejected.addEventListener("rejected", () => {
  if (!main.querySelector("#token")) logIn();
});
live.watch(() => {
  drawTop();
  drawAge();
});
standing.watch(drawTop);
setInterval(drawAge, 1000);
askWho();
