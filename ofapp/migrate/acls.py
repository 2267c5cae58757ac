"""Access lists for the file, from rules of another source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ofapp.bridge.params.acl import hidden
from ofapp.config.acl import AclRuleSettings
from ofapp.config.errors import findings
from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.setting import Setting


def put_acl(
    draft: Draft, at: Path, name: str, rules: Sequence[dict[str, Any]], setting: Setting
) -> bool:
    """Add an access list without the rules that no frame reaches; whether it could be written."""
    made = []
    for position, rule in enumerate(rules, 1):
        try:
            made.append(AclRuleSettings.model_validate(rule).rule(int))
        except ValidationError as error:
            for fault in findings(error, AclRuleSettings):
                where = ".".join(map(str, fault.path))
                what = f"the list is not written: rule {position}: {where}: {fault.what}"
                draft.lose(setting, what)
            return False
    unreached = hidden(tuple(made))
    kept = [rule for position, rule in enumerate(rules) if position not in unreached]
    draft.put((*at, "acls", name), kept, setting)
    return True
