// Events in groups: those of one kind that follow each other closely are shown as one.

const GAP = 60; // seconds between two events of a group

// events: the newest first.  Returns groups by their newest event: [{latest, events: [newest, ...]}]
export function grouped(events) {
  const groups = [];
  const open = new Map(); // kind and severity -> its newest group
  for (const event of events) {
    const key = `${event.severity} ${event.kind}`;
    const group = open.get(key);
    if (group && Date.parse(group.events.at(-1).time) - Date.parse(event.time) <= GAP * 1000) {
      group.events.push(event);
      continue;
    }
    const fresh = { latest: event, events: [event] };
    groups.push(fresh);
    open.set(key, fresh);
  }
  return groups;
}
