"""/v1/config/versions: configurations that were applied, their differences, and the way back."""

from __future__ import annotations

from typing import Annotated, Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, Input, NoQuery
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, ProblemError, documented, field_problem, resource
from ofapp.api.resources.config import Reloaded, author, invalid, not_pushed, reloaded
from ofapp.api.responses import answer, utc
from ofapp.api.roles import admin, viewer
from ofapp.config import ConfigError
from ofapp.controller.configuration.pushed import PushError, UncertainError
from ofapp.controller.configuration.versioned import Contents
from ofapp.controller.network import Network
from ofapp.controller.state.saving import wait_for_all
from ofapp.controller.state.versions import MOST, Version

TAG = Tag(name="versions", description="Versions of the configuration.")

MOST_NUMBER = 1 << 31
Number = Annotated[int, Field(ge=1, lt=MOST_NUMBER, description="number of a version")]
Wanted = int | Literal["disk"]


_WANTED = "number of a version, or `disk` for the file on disk"


class VersionPath(Input):
    """Path of a version."""

    number: Number


class DifferenceQuery(Input):
    """Two files to compare."""

    old: Wanted | None = Field(
        None, description=f"{_WANTED}; by default the version that is in force"
    )
    new: Wanted = Field("disk", description=f"{_WANTED}, which is the default")


class RollbackQuery(Input):
    """Options of a rollback."""

    dry_run: bool = Field(False, description="change nothing, report what would change here")
    force: bool = Field(
        False,
        description="in a cluster: also when most of the former content is gone, or a member"
        " cannot apply it",
    )


class ConfigVersion(BaseModel):
    """A configuration that was applied."""

    version: int = Field(description="number; numbers are not used again")
    at: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    by: str = Field(description="name of the token or user, or of the signal")
    address: str = Field(description="where the request came from")
    how: str = Field(description="start, reload, push or rollback")
    file: str = Field(description="file that it was read from; empty without a file")
    member: str = Field(
        description="member of the cluster whose local file it is; empty: it applied to all"
    )
    changes: list[str] = Field(description="in words, at most 50")
    more: int = Field(description="further changes; the difference has all of them")
    kept: bool = Field(description="its contents are kept; those of a very large file are not")
    in_force: bool = Field(description="it is in force on the controller that answers")


class FileOnDisk(BaseModel):
    """The configuration file of the controller that answers."""

    file: str | None = Field(description="null without a file")
    state: Literal["none", "invalid", "applied", "newer", "replaced"] = Field(
        description="newer: it was changed and is not applied; replaced: a version that was rolled"
        " back to, or a pushed configuration, is in force in its place"
    )
    error: str | None = Field(description="why it is invalid")


class VersionList(BaseModel):
    """All versions, the newest first."""

    versions: list[ConfigVersion] = Field(description=f"at most {MOST}")
    disk: FileOnDisk


class VersionText(ConfigVersion):
    """A version with its contents."""

    text: str | None = Field(description="the file; null if its contents are not kept")


class ComparedFile(BaseModel):
    """One of two files that are compared."""

    name: str = Field(description="number of the version, or path of the file")
    error: str | None = Field(description="why it is not a valid configuration")


class BridgeDifference(BaseModel):
    """What differs for a known bridge."""

    datapath_id: DatapathId
    name: str
    changes: list[str] = Field(description="in words")


class ConfigDifference(BaseModel):
    """The difference of two files."""

    old: ComparedFile
    new: ComparedFile
    lines: list[str] = Field(description="as `diff -u` prints them")
    more: int = Field(description="further lines, which are left out")
    bridges: list[BridgeDifference] | None = Field(
        description="of the known bridges that differ; null if one of the files is not valid"
    )
    fabrics: list[str] = Field(description="in words")
    restart: list[str] = Field(description="settings that take effect at the next start")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network's configuration."""
    api = resource("versions", TAG, "/v1/config")
    versions = network.versions

    @api.get("/versions", responses={200: VersionList})
    @viewer
    def listed(query: NoQuery) -> Response:
        """The configurations that were applied, with author and time, and the file on disk.

        Settings that were made at run time are no versions: the events `audit.change` have them.
        """
        present, disk = versions.in_force, versions.disk_state()
        return answer(
            VersionList(
                versions=[_version(own, present) for own in reversed(versions.all)],
                disk=FileOnDisk.model_validate(disk._asdict()),
            )
        )

    @api.get("/versions/<number>", responses={200: VersionText, **documented(404)})
    @admin
    def text(path: VersionPath, query: NoQuery) -> Response:
        """A version with its contents."""
        version = versions.find(path.number)
        if version is None:
            raise _unknown(path.number)
        data = version.data
        about = _version(version, versions.in_force).model_dump()
        return answer(
            VersionText(**about, text=None if data is None else data.decode(errors="replace"))
        )

    @api.get("/difference", responses={200: ConfigDifference, **documented(404)})
    @admin
    def difference(query: DifferenceQuery) -> Response:
        """The difference of two versions, or of a version and the file on disk, which may be
        invalid: in lines of the file, and in words for each bridge."""
        present = versions.in_force
        in_force = None if present is None else present.number
        old = in_force if query.old is None else _number(query.old)
        try:
            found = versions.difference(old, _number(query.new))
        except KeyError as error:
            raise _unknown(error.args[0]) from None
        bridges = None
        if found.bridges is not None:
            bridges = [
                BridgeDifference(
                    datapath_id=f"{bridge.datapath_id:016x}", name=bridge.name, changes=[*words]
                )
                for bridge, words in found.bridges
            ]
        return answer(
            ConfigDifference(
                old=_file(found.old),
                new=_file(found.new),
                lines=[*found.lines],
                more=found.more,
                bridges=bridges,
                fabrics=[*found.fabrics],
                restart=[*found.restart],
            )
        )

    @api.post(
        "/versions/<number>/rollback",
        responses={200: Reloaded, **documented(404, 409), **UNSAVED},
    )
    @admin
    def rollback(path: VersionPath, query: RollbackQuery) -> Response:
        """Apply a version again; in a cluster on all members.  The answer has the changes here.

        Without a cluster the file on disk stays as it is: the version is in force in its place,
        also after a restart, until the file is changed or read again.  Run-time settings stay as
        in a reload.  409: this ofapp or a member cannot apply it; nothing has changed then.
        """
        how = author(f"rollback to version {path.number}")
        try:
            done = versions.rollback(path.number, how, query.dry_run, query.force)
        except KeyError:
            raise _unknown(path.number) from None
        except ConfigError as error:
            raise invalid(error) from None
        except (PushError, UncertainError) as error:
            raise not_pushed(error) from None
        wait_for_all(done.saved)
        if not query.dry_run:
            network.problems.review()  # it may have ended some
        return answer(reloaded(done))

    return api


def _number(wanted: Wanted) -> int | None:
    """The number of a version; None for the file on disk."""
    return None if wanted == "disk" else wanted


def _unknown(number: int) -> ProblemError:
    what = f"the contents of version {number} are not kept: ofapp config history lists the versions"
    return field_problem(404, "version", what)


def _file(contents: Contents) -> ComparedFile:
    return ComparedFile(name=contents.name, error=contents.error)


def _version(version: Version, present: Version | None) -> ConfigVersion:
    return ConfigVersion(
        version=version.number,
        at=utc(version.at),
        by=version.by,
        address=version.address,
        how=version.how,
        file=version.file,
        member=version.member,
        changes=[*version.changes],
        more=version.more,
        kept=version.packed is not None,
        in_force=version is present,
    )
