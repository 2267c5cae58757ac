"""Access lists as the file has them, on their own bridge."""

from __future__ import annotations

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import AclRule, Policies, PortPolicy
from ofapp.config.acl import AclRuleSettings, acl_params
from tests.support.acl_oracle import Settings

LIST = "guests"


def rules_of(given_rules: list[Settings]) -> tuple[AclRule, ...]:
    models = tuple(map(AclRuleSettings.model_validate, given_rules))
    return acl_params({LIST: models}, int)[LIST]


def bridge_with(**lists: tuple[AclRule, ...]) -> Bridge:
    """A separate port for each list, and a port without one."""
    ports = {f"to-{name}": PortParams(policy=PortPolicy(acl=name)) for name in lists}
    return Bridge(1, BridgeParams(ports=ports, policies=Policies(acls=lists)))
