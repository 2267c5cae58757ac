// The user's session, and the login.  The token is sent once to open a session, and not stored.

import { call, get, remove } from "./api.js";
import { html, render } from "./lit.js";

const ROLES = ["viewer", "operator", "admin"];

export const session = {
  who: null, // answer of /v1/session

  async load() {
    this.who = await get(["session"]);
    return this.who;
  },

  may(role) {
    return this.who !== null && ROLES.indexOf(this.who.role) >= ROLES.indexOf(role);
  },

  async begin(token) {
    const headers = { Authorization: `Bearer ${token}` };
    this.who = await call("POST", ["session"], { headers });
  },

  async end() {
    await remove(["session"]);
    this.who = null;
  },
};

export function showLogin(place, done) {
  const attempt = async (event) => {
    event.preventDefault();
    const field = event.target.elements.token;
    try {
      await session.begin(field.value.trim());
      field.value = "";
      done();
    } catch (error) {
      draw(error.message);
      place.querySelector("input").select();
    }
  };
  const draw = (problem = "") =>
    render(
      html`<section class="card door">
        <h1>Log in</h1>
        <p>This controller requires a login. Paste a token; the browser keeps a session
        that ends half an hour after its last use, and not the token.</p>
        <form @submit=${attempt}>
          <label for="token">Token</label>
          <input id="token" name="token" type="password" autocomplete="off" required
            aria-describedby="login-problem" spellcheck="false">
          <button class="primary">Log in</button>
          <p id="login-problem" role="alert" class=${problem ? "problem" : "quiet"}>${problem}</p>
        </form>
        <p class="quiet">Root makes one on the controller's machine:
        <code>ofapp token create NAME --role viewer</code></p>
      </section>`,
      place,
    );
  draw();
  place.querySelector("input").focus();
}
