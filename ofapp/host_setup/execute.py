"""Doing a step.  The only place that maps steps to the kernel and to Open vSwitch."""

from __future__ import annotations

import time

from pyroute2 import NetlinkError

from ofapp.host_setup import controller_file, links, proof, steps
from ofapp.host_setup.change import StepError
from ofapp.host_setup.lagfile import LagFileError
from ofapp.host_setup.netlink import Netlink
from ofapp.host_setup.ovsdb import Database, OvsdbError
from ofapp.host_setup.steps import Step

CONTROLLER_SECONDS = 15.0
LINK_SECONDS = 5.0


class Executor:
    """Takes steps on this host; connects to Open vSwitch when a step first needs it."""

    def __init__(self, database: str, api: str) -> None:
        self._url, self._api = database, api
        self._netlink = Netlink()
        self._database: Database | None = None

    def close(self) -> None:
        """End all connections."""
        self._netlink.close()
        if self._database is not None:
            self._database.close()

    def do(self, step: Step) -> None:
        """StepError when it cannot be done."""
        try:
            self._do(step)
        except OvsdbError as error:
            raise StepError(f"{step}: {error}") from None
        except NetlinkError as error:
            raise StepError(f"{step}: {error.args[-1]}") from None
        except OSError as error:
            raise StepError(f"{step}: {error.strerror or error}") from None
        except LagFileError as error:
            raise StepError(f"{step}: {error}") from None
        except proof.ProofError as error:
            raise StepError(str(error)) from None

    @property
    def database(self) -> Database:
        """OvsdbError when Open vSwitch does not answer."""
        if self._database is None:
            self._database = Database(self._url)
        return self._database

    def _do(self, step: Step) -> None:
        match step:
            case steps.PutBridge(bridge=bridge):
                self.database.put_bridge(bridge)
                self._await_link(bridge.name)
            case steps.RemoveBridge(name=name):
                self.database.remove_bridge(name)
            case steps.PutPort(bridge=name, port=port):
                self.database.put_port(name, port)
            case steps.RemovePort(bridge=bridge_name, name=name):
                self.database.remove_port(bridge_name, name)
            case steps.PutLag(file=file, lag=lag):
                controller_file.put(file, lag, self._api)
            case steps.RemoveLag(file=file, lag=lag):
                controller_file.remove(file, lag, self._api)
            case steps.AwaitController():
                proof.await_controller(self.database, step, self._api, CONTROLLER_SECONDS)
            case steps.AwaitGateways():
                proof.await_gateways(self._netlink, step)
            case _:
                self._do_in_kernel(step)

    def _do_in_kernel(self, step: Step) -> None:
        kernel = self._netlink
        match step:
            case steps.MakeTap(name=name):
                kernel.make_tap(name)
            case steps.RemoveTap(name=name):
                kernel.remove_link(name)
            case steps.SetLink(link=link, up=up, mtu=mtu):
                kernel.set_link(link, up=up, mtu=mtu)
            case steps.SetSetting(link=link, name=name, value=value):
                links.set_setting(link, name, value)
            case steps.SetOffloads(link=link, on=on):
                links.set_offloads(link, on)
            case steps.AddAddress(link=link, address=address):
                kernel.add_address(link, address)
            case steps.RemoveAddress(link=link, address=address):
                kernel.remove_address(link, address)
            case steps.PutRoute(link=link, route=route, replacing=replacing):
                kernel.put_route(link, route, replacing=replacing)
            case steps.RemoveRoute(link=link, route=route):
                kernel.remove_route(link, route)

    def _await_link(self, name: str) -> None:
        deadline = time.monotonic() + LINK_SECONDS
        while not self._netlink.exists(name):
            if time.monotonic() > deadline:
                raise OvsdbError(
                    f"Open vSwitch made no interface {name}; ovs-vswitchd.log says why"
                )
            time.sleep(0.05)
