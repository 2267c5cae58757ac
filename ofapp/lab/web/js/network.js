// The laboratory in its worker: requests and answers.

export class Network {
  constructor() {
    this.waiting = [];
    this.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }) => {
      const { resolve, reject } = this.waiting.shift();
      if (data.failed) reject(new Error(data.failed));
      else resolve(data.answer);
    });
    this.worker.addEventListener("error", (event) => {
      for (const { reject } of this.waiting.splice(0)) reject(new Error(event.message || "Python cannot be loaded"));
    });
  }

  get busy() {
    return this.waiting.length > 0;
  }

  ask(what, ...given) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.worker.postMessage({ do: what, with: given });
    });
  }
}
