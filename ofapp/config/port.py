"""A port in the configuration file: its VLANs, its policy, and the parameters of its protocols.

Names are those of `bridge link set` and `bridge vlan` where these have one.  `vlan` is as short as
what it says: `vlan: 10` is a port for hosts, `vlan: {trunk: [10, 20-30], native: 1}` one for other
bridges.

`with_vlan` and `without_vlan` work as `bridge vlan add` and `del`.  Their result must have a form
in the file, as it is shown in that form.  So at most one VLAN of a port is sent untagged, and
untagged frames belong to the same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ofapp.bridge.input_error import InputError
from ofapp.bridge.params import policy
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.ports import vlan
from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, PortVlans, spoken
from ofapp.config.base import MAX_VID, Flag, MemberVlan, Model, Text, member_vlan, vlan_ref
from ofapp.config.derived import core_values, fields_of, section_values, sections_of
from ofapp.config.multicast import MulticastPort
from ofapp.config.stp import StpPort
from ofapp.config.trust import with_preset, without_preset

Vids = Callable[[int | str], int]
"""The VID of a VLAN that is given by VID or by name.  Raises KeyError."""

_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")


def _vlan_list(value: Any) -> tuple[int | str, ...]:
    """VIDs, ranges "20-30" and names, from a list or from text with commas."""
    items = value if isinstance(value, list | tuple) else [value]
    parts: list[Any] = []
    for item in items:
        parts += item.split(",") if isinstance(item, str) else [item]
    return tuple(_vlan_item(part) for part in parts) or _nothing()


def _nothing() -> tuple[int | str, ...]:
    raise ValueError("no VLAN is given: VIDs, ranges as 20-30, names, or all")


def _vlan_item(part: Any) -> int | str:
    text = part.strip() if isinstance(part, str) else part
    if text == "all":
        return "all"
    ends = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if ends is None:
        ref: int | str = member_vlan(vlan_ref(text))
        return ref
    first, last = int(ends[1][:9]), int(ends[2][:9])
    if not first <= last <= MAX_VID:
        raise ValueError(f"{text} is not a range of VIDs: 1-{MAX_VID} at most, the lower one first")
    return f"{first}-{last}"


VlanList = Annotated[
    tuple[int | str, ...],
    BeforeValidator(_vlan_list),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_VID},
                {"type": "string", "examples": ["all", "10,20-30"]},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "examples": [[10, "20-30"]],
                },
            ]
        }
    ),
]


class PortVlan(Model):
    """access or trunk; neither is a transparent port, which passes frames as they are."""

    access: MemberVlan | None = Field(
        None, description="the VLAN of the hosts here, which know nothing of it"
    )
    trunk: VlanList | None = Field(
        None, description="the VLANs that pass here with their tags: VIDs, ranges, names, or all"
    )
    native: MemberVlan | None = Field(None, description="trunk: the VLAN of untagged frames")
    native_tagged: Flag = Field(False, description="trunk: frames of `native` leave with a tag")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if value == "transparent":
            return {}
        if isinstance(value, str | int) and not isinstance(value, bool):
            return {"access": value}
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.access is not None and self.trunk is not None:
            raise ValueError("access and trunk exclude each other on a port")
        if self.trunk is None and self.native is not None:
            raise ValueError("native is for a trunk: give trunk, or access instead of native")
        if self.native_tagged and self.native is None:
            raise ValueError("native_tagged needs native")
        return self

    @model_serializer
    def _serialize(self) -> Any:
        if self.trunk is None:
            return "transparent" if self.access is None else self.access
        trunk: Any = list(self.trunk)
        values: dict[str, Any] = {"trunk": trunk[0] if len(trunk) == 1 else trunk}
        if self.native is not None:
            values["native"] = self.native
        if self.native_tagged:
            values["native_tagged"] = True
        return values

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(schema)
        whole = handler.resolve_ref_schema(reference)
        long = {key: whole.pop(key) for key in ("type", "properties", "additionalProperties")}
        whole["anyOf"] = [
            {"type": "integer", "minimum": 1, "maximum": MAX_VID, "description": "access"},
            {"type": "string", "description": "access, by the VLAN's name; or transparent"},
            long,
        ]
        return reference

    @property
    def transparent(self) -> bool:
        """Whether frames pass as they are."""
        return self.access is None and self.trunk is None

    def refs(self) -> list[tuple[str, int | str]]:
        """(key, VLAN) of each VLAN that is given by VID or name, ranges left out."""
        given: list[tuple[str, int | str]] = []
        for key, ref in (("access", self.access), ("native", self.native)):
            if ref is not None:
                given.append((key, ref))
        for item in self.trunk or ():
            if item != "all" and (isinstance(item, int) or not _RANGE.fullmatch(item)):
                given.append(("trunk", item))
        return given

    def params(self, vid_of: Vids) -> vlan.PortVlans:
        """The core's value; KeyError for a name that is none."""
        if self.access is not None:
            return vlan.access(vid_of(self.access))
        if self.trunk is None:
            return vlan.TRANSPARENT
        vids: set[int] = set()
        for item in self.trunk:
            ends = _RANGE.fullmatch(item) if isinstance(item, str) else None
            if item == "all":
                vids |= vlan.ALL_VIDS
            elif ends:
                vids |= set(range(int(ends[1]), int(ends[2]) + 1))
            else:
                vids.add(vid_of(item))
        native = vlan.NO_VLAN if self.native is None else vid_of(self.native)
        return vlan.trunk(frozenset(vids), native, self.native_tagged)


class Storm(fields_of(policy.Storm), Model):  # type: ignore[misc]
    """Most frames a second that may come in here, of each kind that floods; the rest is dropped."""


class _Described(Model):
    description: Text = Field("", description="Free text.")
    vlan: PortVlan = Field(
        PortVlan(),
        description="10 or a name: an access port of that VLAN;"
        " {trunk: [10, 20-30], native: 1}: a trunk; transparent: frames pass as they are.",
    )


class PortSection(
    sections_of(PortParams),  # type: ignore[misc]
    fields_of(policy.PortPolicy),  # type: ignore[misc]
    fields_of(PortParams),  # type: ignore[misc]
    _Described,
):
    """A port, by its name, a pattern of names, its number, or LOCAL."""

    storm: Storm = Field(Storm(), description="Storm control, frames a second.")
    stp: StpPort = StpPort()
    multicast: MulticastPort = MulticastPort()

    def changed(self, values: Mapping[str, Any]) -> Self:
        """See `Model`; another `trust` sets the parts that are as the present one sets them."""
        rest = dict(values)
        trust = rest.pop("trust", self.trust)
        if trust == self.trust:
            return super().changed(rest)
        new = with_preset({**self.given(), "trust": trust})
        return self.model_validate(new).changed(rest)

    def given(self) -> dict[str, Any]:
        """Return settings that differ from defaults and from those of `trust`, in JSON's types."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        return without_preset(values, self.model_dump(mode="json"))

    def params(self, vid_of: Vids) -> PortParams:
        """The core's value; KeyError for a VLAN's name that is none."""
        storm = policy.Storm(**core_values(self.storm, policy.Storm))
        return PortParams(
            **core_values(self, PortParams),
            stp=self.stp.params(),
            multicast=self.multicast.params(),
            **section_values(self, PortParams),
            vlans=self.vlan.params(vid_of),
            policy=policy.PortPolicy(**core_values(self, policy.PortPolicy), storm=storm),
        )


def with_vlan(vlans: PortVlans, vid: int, pvid: bool, untagged: bool) -> PortVlans:
    """Add a VLAN.  An access port becomes a trunk, with its VLAN as the native one.

    pvid: untagged frames belong to this VLAN from now on; the former one stays, tagged.
    InputError if the VLAN is to be sent untagged, but is not the one of untagged frames.
    """
    if untagged and not pvid:
        why = "a VLAN leaves without a tag only where untagged frames belong to it: give pvid too"
        raise InputError("untagged", why)
    if vlans.vids is None:
        vlans = PortVlans(frozenset())
    joined = PortVlans(vlans.vids | {vid} if vlans.vids else frozenset({vid}), vlans.untagged)
    if pvid:
        return replace(joined, pvid=vid, untagged=frozenset({vid} if untagged else ()))
    if vid == vlans.pvid:
        return replace(joined, untagged=vlans.untagged - {vid})
    return replace(joined, pvid=vlans.pvid)


def without_vlan(vlans: PortVlans, vid: int) -> PortVlans:
    """Remove a VLAN; InputError if it is the last, or if the port is transparent."""
    if vlans.vids is None:
        why = "the port is transparent, and in every VLAN: give it those that it shall be in"
        raise InputError("vlan", why)
    if vid not in vlans.vids:
        raise InputError("vlan", f"the port is not in VLAN {vid}")
    vids = vlans.vids - {vid}
    if not vids:
        why = f"VLAN {vid} is the port's last: shut it down, or make it transparent, instead"
        raise InputError("vlan", why)
    pvid = NO_VLAN if vid == vlans.pvid else vlans.pvid
    return PortVlans(vids, vlans.untagged - {vid}, pvid)


def vlan_section(vlans: PortVlans) -> PortVlan:
    """The `vlan` section of a port with these VLANs."""
    if vlans.vids is None:
        return PortVlan()
    if not vlans.tagged:
        return PortVlan(access=vlans.pvid)
    values = {"trunk": "all" if vlans.vids == ALL_VIDS else spoken(vlans.vids)}
    if vlans.pvid == NO_VLAN:
        return PortVlan.model_validate(values)
    native = {"native": vlans.pvid, "native_tagged": vlans.pvid not in vlans.untagged}
    return PortVlan.model_validate(values | native)
