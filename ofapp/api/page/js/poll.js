// Poll while the page is visible, and at once when it becomes visible again.

const ALIGNED = 10; // seconds, from which on all pages ask at the same time, and share an answer (network.js)

export function every(seconds, ask, signal, failed = () => {}) {
  let timer;
  let asking = false;
  let again = false;

  const now = async () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    try {
      await ask(signal);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
    asking = false;
    const period = seconds * 1000;
    if (!signal.aborted) timer = setTimeout(now, again ? 300 : seconds < ALIGNED ? period : period - (Date.now() % period));
  };

  const seen = () => document.hidden || now();
  document.addEventListener("visibilitychange", seen);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  });
  now();
  return now; // polls at once
}

// A function that calls `act` after a burst of calls, at most once per interval: at least one interval after
// the last call, too, so that an answer of this age (network.js) has what the call is about.
export function calmly(act, milliseconds, signal) {
  let timer = null;
  let more = false;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const wait = () => {
    timer = setTimeout(() => {
      timer = null;
      if (more) wait();
      more = false;
      act();
    }, milliseconds);
  };
  return () => {
    if (signal.aborted) return;
    if (timer === null) wait();
    else more = true;
  };
}
