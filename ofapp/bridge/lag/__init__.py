"""Link aggregation: several physical ports that are one logical port of the bridge.

    params    the parameters

LACP itself (IEEE 802.1AX-2020 clause 6) is `ofapp.bridge.lag.lacp`, which knows nothing of bridges.
"""

from ofapp.bridge.lag.params import LagParams

__all__ = ["LagParams"]
