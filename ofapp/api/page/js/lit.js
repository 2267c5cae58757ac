// What the views take from lit-html, in one place, so that its path is written once.

export { html, nothing, render } from "../vendor/lit-html/lit-html.js";
export { repeat } from "../vendor/lit-html/directives/repeat.js";
