"""ofapp-manager: starts os-ken applications, `ofapp.app` by default, as ryu-manager did.

os-ken 4 ships no launcher.  This one differs from ryu-manager where that left its user guessing:

- mistakes are found before an application starts, and reported in one line: exit
  status 2 for a wrong command line, 1 for the rest;
- modules are imported before the command line is read, so the options that an application
  registers work beside ours.  Modules come before such options;
- when the OpenFlow listener or the REST server dies the process ends with status 1, for a service
  manager to restart, where ryu-manager would linger;
- SIGTERM and SIGINT end it with status 0.  Switches keep their flows;
- SIGHUP has the applications read their configuration again;
- it notifies systemd that it is ready and alive, see `ofapp.launcher.watchdog`.

By default only this machine is listened to; `ofapp.launcher.options` says why.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import signal
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ofapp
from ofapp.common import hub
from ofapp.common.version import full_version
from ofapp.launcher import preflight, watchdog
from ofapp.launcher.errors import StartError
from ofapp.launcher.logs import JournalHandler, JsonFormatter, Tidy, in_journal
from ofapp.launcher.options import CONF
from ofapp.osken import options
from ofapp.osken.application import OFP_HANDLER, AppManager
from ofapp.osken.server import SwitchServer

DEFAULT_APP = "ofapp.app"
GLANCE, STOP_SECONDS = 0.1, 1.5

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# At debug level these tell of every OpenFlow event or connection, and bury the rest.
NOISY = ("os_ken", "ofp_event", "urllib3", "werkzeug")

LOG = logging.getLogger("ofapp.launcher.manager")  # also when run with -m

CONF.register_cli_opt(
    options.MultiStrOpt(
        "app",
        default=[],
        positional=True,
        required=False,
        metavar="MODULE",
        help=f"os-ken applications: dotted names or .py files (default: {DEFAULT_APP})",
    )
)


def main(argv: Sequence[str] | None = None, prog: str = "ofapp-manager") -> int:
    """Run until a signal stops it; return the exit status.  `argv` lacks the program name."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        manager = AppManager.get_instance()
        _load(manager, _one_line(lambda: _modules(argv)))
        _one_line(lambda: _parse(argv, prog))
        # A module that only the second reading found has no options.
        _load(manager, _split(CONF.app))
        preflight.check(rest=DEFAULT_APP in manager.applications_cls)
        _start_logging()
        return _run(manager)
    except StartError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return error.status


def _split(names: Iterable[str]) -> list[str]:
    chosen = [name for part in names for name in part.split(",") if name]
    return [*(chosen or [DEFAULT_APP]), OFP_HANDLER]


def _modules(argv: list[str]) -> list[str]:
    """The modules named in `argv`, where options that are not known yet may stand as well."""
    parser = ArgumentParser(add_help=False)
    for option, group in CONF._all_cli_opts():
        name = f"{group.name}-{option.name}" if group else option.name
        if isinstance(option, options.BoolOpt):
            parser.add_argument(f"--{name}", f"--no{name}", action="store_true")
        elif option.name != "app":
            parser.add_argument(f"--{name}")
    parser.add_argument("app", nargs="*")
    known, _ = parser.parse_known_args(argv)
    return _split(known.app)


def _parse(argv: list[str], prog: str) -> None:
    CONF(
        argv,
        prog=prog,
        version=f"ofapp {full_version() if '--version' in argv else ofapp.__version__}",
        usage="%(prog)s [MODULE ...] [option ...]",
        default_config_files=[],
        default_config_dirs=[],
        use_env=False,
    )


def _one_line(parse: Callable[[], Any]) -> Any:
    """Call `parse`; argparse writes its usage, then the error, then exits: keep the error."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parse()
    except SystemExit as stop:
        if not stop.code:
            raise
        last = said.getvalue().rstrip().rpartition("error: ")[2]
        # oslo.config names --the_option with underscores there
        problem = re.sub(r"--\w+", lambda name: name[0].replace("_", "-"), last)
        raise StartError(" ".join(problem.split()), status=2) from None
    except (options.RequiredOptError, ValueError) as error:
        raise StartError(str(error), status=2) from None


def _load(manager: AppManager, names: list[str]) -> None:
    for name in names:
        if name in manager.applications_cls:
            continue
        try:
            manager.load_apps([name])
        except (Exception, SystemExit) as error:
            raise StartError(_import_problem(name, error)) from None
        contexts = {context.__module__ for context in manager.contexts_cls.values()}
        if name not in manager.applications_cls and name not in contexts:
            raise StartError(f"module {name} defines no OSKenApp")


def _import_problem(name: str, error: BaseException) -> str:
    if isinstance(error.__context__, SyntaxError):  # os-ken tries the file's name as a module then
        error = error.__context__
    if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
        return f"there is no module {name} (a dotted name in PYTHONPATH, or the path of a .py file)"
    return f"cannot import module {name}: {_explain(error)}"


def _explain(error: BaseException) -> str:
    """One line: what, and for an error that `ofapp` does not report itself, where."""
    if type(error).__module__.startswith("ofapp."):
        return str(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError):  # which says where
        return what
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{what} ({frame.filename}, line {frame.lineno})"


def _start_logging() -> None:
    try:
        options.init_log()
    except (OSError, ValueError) as error:
        raise StartError(f"cannot log as asked: {error}") from None
    root = logging.getLogger()
    default_format = not CONF.log_config_file
    if default_format and CONF.log_format == "auto" and in_journal():
        for stream in [one for one in root.handlers if type(one) is logging.StreamHandler]:
            root.removeHandler(stream)
            root.addHandler(JournalHandler())
    for handler in root.handlers:
        handler.addFilter(Tidy())
    if not default_format:
        return
    # What no line of ours tells is not found out: a third of what an event costs.
    logging._srcfile = None  # (so says the logging HOWTO, "Optimization")
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    as_json = CONF.log_format == "json"
    formatter = JsonFormatter() if as_json else logging.Formatter(LOG_FORMAT)
    for handler in root.handlers:
        handler.setFormatter(formatter)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.INFO if CONF.verbose else logging.WARNING)


def _instantiated(manager: AppManager, endings: Any) -> bool:
    """Whether the applications run; False when this is to end before.  StartError.

    One may wait for something, as for etcd.
    """
    failed: list[Exception] = []
    done = hub.Event()

    def instantiate() -> None:
        try:
            manager.instantiate_apps(**manager.create_contexts())
        except Exception as error:
            LOG.debug("the applications did not start", exc_info=True)
            failed.append(error)
        done.set()

    hub.spawn(instantiate)
    while not done.wait(GLANCE):
        if not endings.empty():
            return False
    if failed:
        raise StartError(_explain(failed[0]))
    return True


def _run(manager: AppManager) -> int:
    endings = hub.Queue()  # (what happened, exit status)
    reloads = hub.Queue()
    hub.on_signals(
        (signal.SIGTERM, signal.SIGINT),
        lambda name: (reloads if name == "SIGHUP" else endings).put((name, 0)),
        repeated=(signal.SIGHUP,),
    )
    if not _instantiated(manager, endings):
        return 0
    for app in manager.applications.values():
        if app.main_thread is not None:
            hub.spawn(_watch, app, endings)
    while endings.empty() and not SwitchServer.listening.wait(GLANCE):
        pass  # a server that fails is in `endings`
    if endings.empty():
        LOG.info("listening for switches on %s", preflight.ofp_address())
        watchdog.ready(_status(manager))
        hub.keep(_logged, lambda: watchdog.watch(lambda: _status(manager)))
        hub.keep(_logged, lambda: _reload(manager, reloads))
    reason: str
    status: int
    reason, status = endings.get()
    LOG.log(logging.ERROR if status else logging.INFO, "stopping: %s", reason)
    watchdog.stopping(f"stopping: {reason}")
    with hub.Timeout(STOP_SECONDS, False):
        manager.close()
        return status
    LOG.warning("the applications did not stop within %s s", STOP_SECONDS)
    return status


def _logged(_error: Exception) -> None:
    """Do nothing: an application's own fault is in the log."""


def _reload(manager: AppManager, asked: Any) -> None:
    """On SIGHUP every application that has a `service_reload()` reads its configuration again."""
    while True:
        asked.get()
        with watchdog.reloading():
            for app in manager.applications.values():
                if hasattr(app, "service_reload"):
                    app.service_reload()


def _status(manager: AppManager) -> str:
    """One line for `systemctl status`: ours, then what applications add (`service_status()`)."""
    telling = [app for app in manager.applications.values() if hasattr(app, "service_status")]
    lines = [f"listening for switches on {preflight.ofp_address()}"]
    return "; ".join(lines + [app.service_status() for app in telling])


def _watch(app: Any, endings: Any) -> None:
    """Report the end of the thread that `app.start()` returned, its server.

    A thread of a user's own application may end when its work is done; ours and os-ken's may not.
    """
    with contextlib.suppress(hub.GreenletExit):
        app.main_thread.wait()
    if type(app).__module__.partition(".")[0] in ("ofapp", "os_ken"):
        endings.put((f"the server of {type(app).__module__} has ended", 1))


if __name__ == "__main__":
    sys.exit(main())
