"""OpenFlow 1.3 messages and their parts as os-ken's objects, as far as ofapp uses them."""

import logging

from os_ken.ofproto import ofproto_parser
from os_ken.ofproto.ofproto_parser import header, msg
from os_ken.ofproto.ofproto_protocol import ProtocolDesc
from os_ken.ofproto.ofproto_v1_3_parser import (
    NXActionResubmitTable,
    OFPActionExperimenterUnknown,
    OFPActionGroup,
    OFPActionOutput,
    OFPActionPopVlan,
    OFPActionPushVlan,
    OFPActionSetField,
    OFPBarrierRequest,
    OFPBucket,
    OFPEchoRequest,
    OFPFlowStatsRequest,
    OFPGroupDescStatsRequest,
    OFPGroupMod,
    OFPInstructionActions,
    OFPInstructionGotoTable,
    OFPInstructionMeter,
    OFPMatch,
    OFPMeterBandDrop,
    OFPMeterConfigStatsRequest,
    OFPMeterFeaturesStatsRequest,
    OFPMeterMod,
    OFPMeterStatsRequest,
    OFPPortDescStatsRequest,
    OFPPortStatsRequest,
    OFPRoleRequest,
    OFPSetConfig,
    OFPTableStatsRequest,
)

# It logs a traceback for every malformed message, and a switch may send any number of them.
logging.getLogger(ofproto_parser.__name__).setLevel(logging.CRITICAL)
