"""os-ken's applications, their events, and the connection of a switch that `Channel` extends."""

import os_ken.base.app_manager
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_event import EventOFPStateChange, ofp_msg_to_ev

OFP_HANDLER = "os_ken.controller.ofp_handler"
"""Module of the application that accepts switches and does their handshake."""
