"""Flows as `ovs-ofctl dump-flows` tells of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow as ``ovs-ofctl dump-flows`` tells it."""

    table: int
    priority: int
    match: str
    actions: str
    cookie: int
    idle_timeout: int
    flags: str
    packets: int = field(compare=False)

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything but the counters."""
        return (
            self.table,
            self.priority,
            self.match,
            self.actions,
            self.cookie,
            self.idle_timeout,
            self.flags,
        )


def parse_flow(line: str) -> Flow:
    """Read one line of ``ovs-ofctl dump-flows --no-names``."""
    head, _, actions = line.strip().partition("actions=")
    values: dict[str, str] = {}
    flags: list[str] = []
    *stats, last = head.split(", ")
    words = last.split()
    for item in stats:
        name, _, value = item.partition("=")
        values[name] = value
    match = ""
    for word in words:
        if "=" not in word and "," not in word and word in {"send_flow_rem", "reset_counts"}:
            flags.append(word)
        elif word.split("=")[0] in {"idle_timeout", "hard_timeout", "idle_age", "n_bytes"}:
            name, _, value = word.partition("=")
            values[name] = value
        else:
            match = word
    priority = 0x8000
    parts = [part for part in match.split(",") if part]
    if parts and parts[0].startswith("priority="):
        priority = int(parts.pop(0).partition("=")[2])
    return Flow(
        table=int(values["table"]),
        priority=priority,
        match=",".join(parts),
        actions=actions,
        cookie=int(values["cookie"], 0),
        idle_timeout=int(values.get("idle_timeout", "0")),
        flags=" ".join(flags),
        packets=int(values["n_packets"]),
    )
