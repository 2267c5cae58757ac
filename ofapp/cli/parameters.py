"""Commands that set parameters, with an option for each declared parameter.

A parameter gets its option and its help text from its declaration in the core.  The import of
the declarations takes as long as all other commands together, so such a command makes its options
only when it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ofapp.cli.arguments import HELP, BridgeArgument, ControllerCommand, PortArgument, with_access
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.output import say

if TYPE_CHECKING:
    from ofapp.bridge.params.parameter import Parameter

Given = dict[str, Any]
"""Values of the given options by parameter, as the API expects them."""
Command = Callable[..., None]

_METAVARS = {int: "N", float: "N", str: "TEXT"}
ELSEWHERE = {
    "stp": "stp set-port",
    "multicast": "multicast set",
    "lldp": "lldp set-port",
    "first_hop": "first-hop set-port",
    "port_access": "auth set-port",
    "loop_protect": "loop-protect set-port",
}
"""Commands that set the sections of a port of the file, by the section."""
_UNTIL = "They last until the file changes the same values, or `ofapp config reload --reset`."


def setting(
    app: typer.Typer, name: str, owners: Callable[[], Sequence[type]], **flags: str
) -> Callable[[Command], Command]:
    """Add a command to `app` with an option for each parameter of these dataclasses; it gets the
    values as `given`.

    flags: spelling of options that differ from the parameter's name.  A parameter of two
    dataclasses is one option, with the sentence of the first.
    """

    def register(command: Command) -> Command:
        def whole() -> TyperCommand:
            inner = typer.Typer(
                add_completion=False,
                rich_markup_mode=None,
                pretty_exceptions_enable=False,
                context_settings=HELP,
            )
            inner.command(cls=ControllerCommand)(
                with_access(_with_options(command, owners(), flags))
            )
            made = typer.main.get_command(inner)
            assert isinstance(made, TyperCommand)
            return made

        class Setting(SettingCommand):
            def whole(self) -> TyperCommand:
                return whole()

        def run(context: typer.Context) -> None:
            whole()(args=context.args, prog_name=context.command_path, standalone_mode=False)

        run.__doc__ = command.__doc__
        passed_on = {"allow_extra_args": True, "ignore_unknown_options": True}
        settings = {**passed_on, "help_option_names": []}
        app.command(name, cls=Setting, context_settings=settings)(run)
        return command

    return register


def add_protocol_settings(app: typer.Typer, section: str, name: str | None) -> None:
    """Add the commands `set` and `set-port` of a protocol.

    section: as in the API's path; name: as in a sentence, None where it has no switch.
    """
    module = f"ofapp.bridge.{section.replace('-', '_')}.params"
    enabled = typer.Option(None, "--on/--off", help=f"Start or stop {name}.")

    def set_switched(
        bridge: BridgeArgument, given: Given, on: bool | None = enabled, client: Client = CONNECT
    ) -> None:
        values = given if on is None else given | {"enabled": on}
        answer = _patch(client, bridge, values, section)
        if on is None:
            say_if_off(client, bridge, answer)

    def set_always(bridge: BridgeArgument, given: Given, client: Client = CONNECT) -> None:
        _patch(client, bridge, given, section)

    def say_if_off(client: Client, bridge: str, answer: Json) -> None:
        if name is not None and is_off(client, bridge, section, answer):
            group = ELSEWHERE[section.replace("-", "_")].partition(" ")[0]
            say_no_effect(f"`ofapp {group} set {bridge} --on` turns {name} on")

    set_bridge = set_always if name is None else set_switched

    def set_port(
        bridge: BridgeArgument, port: PortArgument, given: Given, client: Client = CONNECT
    ) -> None:
        answer = _patch(client, bridge, given, section, "ports", port)
        if any(value not in (None, False, "off") for value in given.values()):
            say_if_off(client, bridge, answer)

    set_bridge.__doc__ = f"Set parameters of a bridge.\n\n{_UNTIL}"
    set_port.__doc__ = f"Set parameters of a port or an aggregation.\n\n{_UNTIL}"
    setting(app, "set", lambda: [import_module(module).BridgeParams])(set_bridge)
    setting(app, "set-port", lambda: [import_module(module).PortParams], enabled="--on/--off")(
        set_port
    )


def say_no_effect(remedy: str) -> None:
    """Say that what was set has no effect while its protocol is off."""
    say(f"ofapp: it is set, and has no effect yet: {remedy}", err=True)


def is_off(client: Client, bridge: str, section: str, answer: Json) -> bool:
    """Whether a protocol is off.  answer: to a change, which may be about a port alone."""
    known = answer if "enabled" in answer else client.get(client.path(bridge, section))
    return known["enabled"] is False


def _patch(client: Client, bridge: str, given: Given, *below: str) -> Json:
    """Set the given parameters of a bridge, or of something below it."""
    if not given:
        raise typer.BadParameter("nothing to set: give at least one option")
    return client.patch(client.path(bridge, *below), given)


def settings(
    texts: Iterable[str] | None, given: Mapping[str, object], owners: Sequence[type]
) -> dict[str, object]:
    """The settings of arguments, as `isolated=true`, and of options; typer.BadParameter.

    owners: dataclasses that declare the parameters; `community=none` is like `--community none`.
    """
    from ofapp.bridge.params.parameter import declared

    values = dict(map(_key_value, texts or ()))
    for name in values:
        if (command := ELSEWHERE.get(name.partition(".")[0])) is not None:
            what = f"{name} is set by another command: see `ofapp {command} --help`"
            raise typer.BadParameter(what)
    for name, parameter in (item for owner in owners for item in declared(owner).items()):
        if parameter.optional and values.get(name) == parameter.unset:
            values[name] = None
    for name in values.keys() & given.keys():
        raise typer.BadParameter(f"{name} is given twice: as an option and as {name}=VALUE")
    if not values and not given:
        raise typer.BadParameter("nothing to set: give at least one option or KEY=VALUE")
    return {**values, **given}


class SettingCommand(TyperCommand):
    """A command that makes its options on demand: when it runs (by `whole`), for completion by a
    shell, and for its manual page."""

    def whole(self) -> TyperCommand:
        """The command with all its options."""
        raise NotImplementedError

    def get_params(self, ctx: Any) -> Any:
        """All options during completion."""
        return self.whole().get_params(ctx) if ctx.resilient_parsing else super().get_params(ctx)


def _with_options(command: Command, owners: Sequence[type], flags: Mapping[str, str]) -> Command:
    from ofapp.bridge.params.parameter import declared

    parameters: dict[str, Parameter] = {}
    for owner in owners:
        parameters = {**declared(owner), **parameters}

    @wraps(command)
    def run(**arguments: Any) -> None:
        typed = {name: arguments.pop(name) for name in parameters}
        given = {name: _api_value(v) for name, v in typed.items() if v is not None}
        command(**arguments, given=given)

    signature = inspect.signature(command, eval_str=True)
    kept = [one for name, one in signature.parameters.items() if name != "given"]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_option(parameter, flags.get(name)),
        )
        for name, parameter in parameters.items()
    ]
    whole = [*(one.replace(kind=one.KEYWORD_ONLY) for one in kept), *options]
    run.__signature__ = signature.replace(parameters=whole)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in whole}
    return run


_UNSET = object()
"""Stands for a typed `none` or `auto`; None stands for an option that was not given."""


def _api_value(value: object) -> object:
    return None if value is _UNSET else value


def _option(parameter: Parameter, flag: str | None) -> Any:
    names = [] if flag is None else [flag]
    about: dict[str, Any] = {"help": parameter.sentence}
    type_: Any = parameter.type
    if parameter.choices and type_ is not int:
        type_ = Literal[tuple(str(getattr(one, "value", one)) for one in parameter.choices)]
    elif type_ is not bool:
        about["metavar"] = "S" if parameter.unit == "s" else _METAVARS[type_]
    if parameter.optional:
        about["metavar"] += f"|{parameter.unset}"
        about["parser"] = partial(_optional, parameter)
        return Annotated[Any, typer.Option(*names, **about)]
    return Annotated[type_ | None, typer.Option(*names, **about)]


def _optional(parameter: Parameter, text: str) -> object:
    if text == parameter.unset:
        return _UNSET
    if parameter.type is str:
        return text
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"{text}: must be {parameter.wanted}, or {parameter.unset}")
    return int(text)


def _key_value(text: str) -> tuple[str, object]:
    import yaml

    key, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("expected KEY=VALUE")
        return key, yaml.safe_load(value)
    except yaml.MarkedYAMLError as error:
        column = len(key) + 2 + (error.problem_mark.column if error.problem_mark else 0)
        what = f"not YAML at column {column}: {error.problem}"
        raise typer.BadParameter(f"{text}: {what} (quote it for the shell)") from None
    except (ValueError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{text}: {error}") from None
