"""/v1/bridges/{dpid}/acls: access lists and what their rules have done."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, models_acl, views
from ofapp.api.answers import answer, utc
from ofapp.api.problems import COMMON, documented
from ofapp.bridge.acl import IMPLICIT
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.policy import AclRule
from ofapp.controller.network import Network
from ofapp.openflow.switch.acl_counters import AclCounters

TAG = Tag(name="acls", description="Access lists.")

_AFTER_ALL = AclRule(IMPLICIT, allow=False)


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "acls", __name__, url_prefix="/v1/bridges/<dpid>/acls", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models_acl.AclList, **documented(404)})
    def acls(path: models.BridgePath, query: models.NoQuery) -> Response:
        """A bridge's access lists, by name, with its counters as of now.

        The counters are the switch's own: they go on while the controller is away, and begin anew
        when the switch restarts.
        """
        bridge = views.find_bridge(network, path.dpid)
        session = network.sessions.get(bridge.datapath_id)
        if session is not None:
            session.ask_acl_counters()
        counters = None if session is None else session.acl
        lists = sorted(bridge.params.policies.acls.items())
        return answer(
            {
                "acls": [_acl_json(bridge, name, rules, counters) for name, rules in lists],
                "metered": None if session is None else session.metered,
            }
        )

    return api


def _acl_json(
    bridge: Bridge, name: str, rules: Sequence[AclRule], counters: AclCounters | None
) -> views.Json:
    """Shape: `models_acl.Acl`."""
    users = [
        port
        for port in sorted(bridge.ports, key=lambda port: port.number)
        if bridge.params.port(port.name, port.number).policy.acl == name
    ]
    return {
        "name": name,
        "ports": [views.port_ref(bridge, port.number) for port in users],
        "rules": [_rule_json(bridge, name, rule, counters) for rule in (*rules, _AFTER_ALL)],
    }


def _rule_json(
    bridge: Bridge, name: str, rule: AclRule, counters: AclCounters | None
) -> views.Json:
    """Shape: `models_acl.AclRule`."""
    count = None if counters is None else counters.matched(name, rule.name)
    over = 0 if counters is None else counters.over_rate(name, rule.name)
    return {
        "name": rule.name,
        "match": rule.about,
        "action": "allow" if rule.allow else "drop",
        "mirror": None if rule.mirror is None else _mirror_json(bridge, rule.mirror),
        "rate": rule.rate,
        "packets": None if count is None else count.packets,
        "bytes": None if count is None else count.octets,
        "over_rate": None if count is None else over,
        "since": None if count is None else utc(count.since),
    }


def _mirror_json(bridge: Bridge, name: str) -> views.Json:
    """Shape: `models.PortRef`."""
    port = bridge.ports.named(name)
    return {"number": None if port is None else port.number, "name": name}
