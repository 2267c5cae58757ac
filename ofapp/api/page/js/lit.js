// Imports from lit-html for all views.

import { html as template } from "../vendor/lit-html/lit-html.js";

export { nothing, render, svg } from "../vendor/lit-html/lit-html.js";
export { repeat } from "../vendor/lit-html/directives/repeat.js";

// Untrusted text may change the direction of the text after it (U+202E): <bdi> isolates it.
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufefc]/;
const kinds = new WeakMap(); // for each template: which of its values are content, not attributes

function contents(strings) {
  let found = kinds.get(strings);
  if (!found) {
    let text = "";
    found = strings.map((part) => {
      text += part;
      return text.lastIndexOf("<") <= text.lastIndexOf(">");
    });
    kinds.set(strings, found);
  }
  return found;
}

export function html(strings, ...values) {
  const turns = (value) => typeof value === "string" && TURNS.test(value);
  if (!values.some(turns)) return template(strings, ...values);
  const isContent = contents(strings);
  return template(strings, ...values.map((value, at) => (turns(value) && isContent[at] ? template`<bdi>${value}</bdi>` : value)));
}
