"""What the hosts of a port bring to it, in place of what is configured."""

from dataclasses import replace
from typing import NamedTuple

from ofapp.bridge.params.params import PortParams
from ofapp.bridge.ports.vlan import PortVlans


class Granted(NamedTuple):
    """VLANs, and most kbit/s that may come in and leave; None: as configured."""

    vlans: PortVlans | None = None
    rate_in: int | None = None
    rate_out: int | None = None

    def over(self, params: PortParams) -> PortParams:
        """Parameters of the port, with what its hosts bring."""
        policy = params.policy
        if self.rate_in is not None:
            policy = replace(policy, rate_in=self.rate_in)
        if self.rate_out is not None:
            policy = replace(policy, rate_out=self.rate_out)
        return replace(params, vlans=self.vlans or params.vlans, policy=policy)


NOTHING_GRANTED = Granted()
