"""Ten frames to a multicast group, and who gets them: on every host's wire, member or not.

Run inside a host it is the ear of that host: `ofapp_stream.py INTERFACE GROUP` says `ready`, hears
until its input ends, and prints how many frames there were.
"""

import select
import socket
import subprocess
import sys
import time
from ipaddress import ip_address

FRAMES = 10
PORT = 5000
PATIENCE = 0.3
"""Seconds that the last frame may take."""


def count(sender, hosts, group):
    """Send from one host, listen on the others: host -> frames.  About a second."""
    ears = {host: _popen(host, host.defaultIntf(), group) for host in hosts}
    try:
        for ear in ears.values():
            ear.stdout.readline()
        _popen(sender, sender.defaultIntf(), group, "send").communicate()
        time.sleep(PATIENCE)
        return {host: int(ear.communicate()[0]) for host, ear in ears.items()}
    finally:
        for ear in ears.values():
            ear.kill()


def _popen(host, *words):
    command = [sys.executable, __file__, *map(str, words)]
    return host.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(interface, group):
    """A frame each 10 ms."""
    six = ":" in group
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        for _ in range(FRAMES):
            sock.sendto(b"ofapp lab", (group, PORT))
            time.sleep(0.01)


def hear(interface, group):
    """Print how many frames to the group come in until standard input ends."""
    address, frames = ip_address(group).packed, 0
    at = slice(30, 34) if len(address) == 4 else slice(38, 54)
    payload = 42 if len(address) == 4 else 62
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as ear:
        ear.bind((interface, 0x0003))
        print("ready", flush=True)
        while True:
            readable, _, _ = select.select([ear, sys.stdin], [], [])
            if ear in readable:
                data, sender = ear.recvfrom(2048)
                ours = data[at] == address and data[payload : payload + 9] == b"ofapp lab"
                frames += ours and sender[2] != socket.PACKET_OUTGOING
            elif not sys.stdin.read(1):
                break
    print(frames)


if __name__ == "__main__":
    (send if sys.argv[3:] else hear)(*sys.argv[1:3])
