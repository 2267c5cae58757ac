"""The classic learning switch on plain os-ken, as its tutorials have it, and a launcher for it.

What a user writes today: learn the source in a dictionary, look the destination up, install a flow
for (in_port, eth_src, eth_dst) when it is known, flood otherwise, and send the packet on.  Nothing
is optimised and nothing is slowed down: no logging per packet.

    python learning_switch.py PORT eventlet|native
"""

from __future__ import annotations

import os
import sys
import warnings

if __name__ == "__main__":
    os.environ["OSKEN_HUB_TYPE"] = sys.argv[2]
    warnings.simplefilter("ignore")

from os_ken.lib import hub

if __name__ == "__main__":
    hub.patch()

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class LearningSwitch(app_manager.OSKenApp):
    """One MAC table a datapath."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tables = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, event):
        """Have frames without a flow sent here."""
        datapath = event.msg.datapath
        ofp, parser = datapath.ofproto, datapath.ofproto_parser
        actions = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
        self.add_flow(datapath, 0, parser.OFPMatch(), actions)

    def add_flow(self, datapath, priority, match, actions):
        """Install one flow of table 0."""
        ofp, parser = datapath.ofproto, datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
        mod = parser.OFPFlowMod(
            datapath=datapath, priority=priority, match=match, instructions=instructions
        )
        datapath.send_msg(mod)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        """Learn the source; forward, and with a known destination install a flow."""
        message = event.msg
        datapath = message.datapath
        ofp, parser = datapath.ofproto, datapath.ofproto_parser
        in_port = message.match["in_port"]
        frame = packet.Packet(message.data).get_protocols(ethernet.ethernet)[0]
        table = self.tables.setdefault(datapath.id, {})
        table[frame.src] = in_port
        out_port = table.get(frame.dst, ofp.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != ofp.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_dst=frame.dst, eth_src=frame.src)
            self.add_flow(datapath, 1, match, actions)
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=message.buffer_id,
                in_port=in_port,
                actions=actions,
                data=message.data,
            )
        )


def main() -> None:
    """Serve until killed."""
    arguments = ["--ofp-listen-host=127.0.0.1", f"--ofp-tcp-listen-port={sys.argv[1]}"]
    cfg.CONF(arguments, project="os_ken")
    sys.modules["learning_switch"] = sys.modules["__main__"]
    # loading the OpenFlow controller explicitly: it is what osken-manager did
    app_manager.AppManager.run_apps(["os_ken.controller.ofp_handler", "learning_switch"])


if __name__ == "__main__":
    main()
