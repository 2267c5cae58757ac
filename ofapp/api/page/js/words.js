// Formats of numbers, times and states.

import { html, nothing } from "./lit.js";

// Remove characters that change the direction of text, where <bdi> is not possible.
export const unmirrored = (text) => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

const UNITS = ["", "k", "M", "G", "T"];

export function scaled(value, unit = "") {
  // 1234567 -> "1.23 M"; three significant digits.
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  let power = 0;
  while (Math.abs(value) >= 999.5 && power < UNITS.length - 1) {
    value /= 1000;
    power += 1;
  }
  const digits = power === 0 ? (Number.isInteger(value) ? 0 : 1) : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${UNITS[power]}${unit}`.trimEnd();
}

export const bits = (octets) => scaled(octets === null || octets === undefined ? octets : octets * 8, "bit/s");

export function count(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en").replaceAll(",", "\u202f");
}

export function age(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// How long ago a time of the API was.
export function ago(iso) {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  return seconds < 2 ? "just now" : `${age(seconds)} ago`;
}

export function speed(mbps) {
  return mbps ? scaled(mbps * 1e6, "bit/s") : "–";
}

export function clock(iso) {
  // The API's UTC in the user's time zone.
  const time = new Date(iso);
  const two = (value) => String(value).padStart(2, "0");
  const hours = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  const today = new Date().toDateString() === time.toDateString();
  return today ? hours : `${two(time.getMonth() + 1)}-${two(time.getDate())} ${hours}`;
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export const vlanText = (vlan) => (vlan === null ? "every VLAN" : vlan === 0 ? "untagged" : `VLAN ${vlan}`);

// A state is a colour, a shape and a word, so that it does not depend on colour alone.
const SHAPES = { forwarding: "●", learning: "◐", discarding: "–", disabled: "○", disconnected: "○", "no carrier": "▽" };

export function stateBadge(state) {
  return html`<span class="badge ${state}"><span aria-hidden="true">${SHAPES[state] ?? "?"}</span> ${state}</span>`;
}

export const ROLE_LETTERS = { root: "R", designated: "D", alternate: "A", backup: "B", disabled: "–" };

export function roleBadge(role) {
  if (!role) return nothing;
  return html`<span class="role ${role}"><b aria-hidden="true">${ROLE_LETTERS[role] ?? "?"}</b> ${role}</span>`;
}

export function linkBadge(up) {
  return up
    ? html`<span class="badge forwarding"><span aria-hidden="true">▲</span> up</span>`
    : html`<span class="badge disabled"><span aria-hidden="true">▽</span> down</span>`;
}

// Pairs of a term and its value; those without a value are left out.
export function facts(pairs) {
  const said = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<dl class="facts">${said.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
