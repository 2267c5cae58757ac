"""Commands that set parameters, with an option for each declared parameter.

A parameter gets its option and its help text from its declaration in the core.  The import of
the declarations takes as long as all other commands together, so such a command makes its options
only when it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ofapp.cli.arguments import BridgeArgument, PortArgument, with_access
from ofapp.cli.client import CONNECT, Client

if TYPE_CHECKING:
    from ofapp.bridge.params.parameter import Parameter

Given = dict[str, Any]
"""Values of the given options by parameter, as the API expects them."""
Command = Callable[..., None]

_METAVARS = {int: "N", float: "N", str: "TEXT"}
_HELP = ["-h", "--help"]
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
                pretty_exceptions_enable=False,
                context_settings={"help_option_names": _HELP},
            )
            inner.command()(with_access(_with_options(command, owners(), flags)))
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


def add_protocol_settings(
    app: typer.Typer, section: str, name: str | None, params: Callable[[], ModuleType]
) -> None:
    """Add the commands `set` and `set-port` of a protocol.

    section: as in the API's path; name: as in a sentence, None where it has no switch.
    params: imports the parameters' module.
    """
    enabled = typer.Option(None, "--on/--off", help=f"Start or stop {name}.")

    def set_switched(
        bridge: BridgeArgument, given: Given, on: bool | None = enabled, client: Client = CONNECT
    ) -> None:
        _patch(client, bridge, given if on is None else given | {"enabled": on}, section)

    def set_always(bridge: BridgeArgument, given: Given, client: Client = CONNECT) -> None:
        _patch(client, bridge, given, section)

    set_bridge = set_always if name is None else set_switched

    def set_port(
        bridge: BridgeArgument, port: PortArgument, given: Given, client: Client = CONNECT
    ) -> None:
        _patch(client, bridge, given, section, "ports", port)

    set_bridge.__doc__ = f"Set parameters of a bridge.\n\n{_UNTIL}"
    set_port.__doc__ = f"Set parameters of a port or an aggregation.\n\n{_UNTIL}"
    setting(app, "set", lambda: [params().BridgeParams])(set_bridge)
    setting(app, "set-port", lambda: [params().PortParams], enabled="--on/--off")(set_port)


def _patch(client: Client, bridge: str, given: Given, *below: str) -> None:
    """Set the given parameters of a bridge, or of something below it."""
    if not given:
        raise typer.BadParameter("nothing to set: give at least one option")
    client.patch(client.path(bridge, *below), given)


def settings(texts: Iterable[str] | None, given: Mapping[str, object]) -> dict[str, object]:
    """The settings of arguments, as `isolated=true`, and of options; typer.BadParameter."""
    values = dict(map(_key_value, texts or ()))
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
        raise typer.BadParameter(f"{text}: neither a number nor {parameter.unset}")
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
