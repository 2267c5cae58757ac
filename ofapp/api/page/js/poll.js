// Poll while the page is visible, and at once when it becomes visible again.

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
    if (!signal.aborted) timer = setTimeout(now, again ? 300 : seconds * 1000);
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

// A function that calls `act` once after a burst of calls, at most once per interval.
export function calmly(act, milliseconds, signal) {
  let timer = null;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    if (timer !== null || signal.aborted) return;
    timer = setTimeout(() => {
      timer = null;
      act();
    }, milliseconds);
  };
}
