"""Attribution of samples to parts of a frame's way, by a table of symbols.

The order counts: the first pattern that matches decides.  A lock taken by a driver is therefore a
lock, and memory that a bridge allocates is memory.  Patterns are those of shells.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from functools import cache


class Part(StrEnum):
    """Part of a frame's way; also the beginning of its figures' names."""

    DRIVER = "driver"
    STACK = "stack"
    BRIDGE = "bridge"
    MEMORY = "memory"
    LOCKS = "locks"
    REST = "rest"
    ENDS = "ends"


DEVICE = tuple(part for part in Part if part is not Part.ENDS)
"""The parts that are the device's, in the order of the report."""

_SOCKETS = (
    *("packet_*", "tpacket_*", "prb_*", "sock_*", "*sendmsg*", "*sendmmsg*", "*recvmsg*"),
    *("*recvmmsg*", "*sendto*", "*recvfrom*", "__sys_*", "__x64_sys_*", "*_iovec*", "import_ubuf"),
    *("*sockaddr*", "security_socket_*", "do_syscall_64", "entry_SYSCALL*", "x64_sys_call"),
    *("syscall_*", "fdget", "__fget*", "fput", "do_sys_poll", "do_poll*", "__pollwait"),
    *("datagram_poll", "__skb_recv_datagram", "__skb_try_recv*", "skb_set_owner_w"),
)
"""System calls and packet sockets: the generator's way in, and the ports of a netdev datapath."""

_INTERRUPTS = (
    *("irqentry_*", "asm_*", "sysvec_*", "hrtimer_*", "*_perf_*", "perf_*", "finish_task_switch"),
    *("schedule", "__schedule", "preempt_schedule*"),
)
"""What samples, schedules, and idle processors cost: no part of a frame's way."""

_LOCKS = (
    *("*spin_lock*", "*spin_unlock*", "*spin_trylock*", "*read_lock*", "*read_unlock*"),
    *("*write_lock*", "*write_unlock*", "*mutex_*", "__mutex*", "down_read*", "down_write*"),
    *("up_read*", "up_write*", "rwsem_*", "futex_*", "do_futex", "lock_sock*", "release_sock"),
)
_MEMORY = (
    *("kmem_cache_*", "*kmalloc*", "kfree", "kfree_*", "*slab*", "*alloc_skb*", "*build_skb*"),
    *("napi_alloc*", "napi_skb_*", "__netdev_alloc*", "page_frag_*", "__page_frag*", "skb_clone"),
    *("skb_release_*", "skb_free_*", "sk_skb_reason_drop", "consume_skb", "skb_defer_free_*"),
    *("skb_copy*", "pskb_expand_head", "skb_head_*", "alloc_pages*", "__alloc_pages*"),
    *("get_page*", "free_unref_*", "__free_pages*", "free_frozen_*", "page_pool_*", "*memcpy*"),
    *("*memset*", "*memmove*", "rep_movs*", "rep_stos*", "*copy_user*", "_copy_from_*"),
    *("_copy_to_*", "clear_page*", "copy_page*", "*check_object*", "__check_heap*"),
    *("__virt_addr_valid", "*memcg*", "obj_cgroup*", "copy_from_kernel*", "skb_page_frag*"),
)
_DRIVER = (
    *("veth_*", "*virtnet_*", "virtqueue_*", "vring_*", "virtio_*", "tun_*", "tap_*", "vhost_*"),
    *("e1000*", "igb_*", "igc_*", "ixgbe_*", "i40e_*", "ice_*", "mlx4_*", "mlx5*", "bnxt_*"),
    *("tg3_*", "r8169_*", "rtl8169_*", "ena_*", "gve_*", "vmxnet3_*", "bnx2x_*", "dma_*"),
    *("xsk_*", "__xsk_*", "xp_*", "xdp_*", "__xdp_*", "bpf_prog_*", "bpf_dispatcher_*"),
    *("__dev_forward_skb*", "eth_type_trans", "skb_scrub_packet"),
)
_BRIDGE = (
    *("br_*", "__br_*", "fdb_*", "nbp_*", "nf_hook_bridge*", "setup_pre_routing"),
    *("memcmp", "rhashtable_*", "__rht*", "rht_*"),  # how the bridge finds an address
    *("ovs_*", "__ovs_*", "masked_flow_lookup", "flow_lookup*", "key_extract*", "do_output*"),
    *("do_execute_actions", "clone_execute", "internal_dev_*", "netdev_frame_hook"),
    *("ip_forward*", "fib_*", "ip_route_*", "ip_rt_*", "rt_*", "ip_finish_output*", "neigh_*"),
)
_STACK = (
    *("*netif_receive_skb*", "netif_rx*", "process_backlog", "*backlog*", "net_rx_action"),
    *("*napi_*", "*dev_queue_xmit*", "dev_hard_start_xmit", "sch_direct_xmit"),
    *("validate_xmit*", "netif_*", "netdev_*", "__qdisc_*", "qdisc_*", "*fifo_*", "noqueue_*"),
    *("*handle_softirqs*", "*do_softirq*", "net_tx_action", "skb_*", "__skb_*", "pskb_*", "*_bh_*"),
    *("eth_*", "ip_rcv*", "ip_*", "nf_*", "dev_*", "__dev_*", "passthru_features*", "rps_*"),
    *("get_rps_cpu", "packet_offload*", "inet_*", "ksoftirqd*", "run_ksoftirqd", "ktime_get*"),
)
_KERNEL = (
    (Part.LOCKS, _LOCKS),
    (Part.ENDS, _SOCKETS),
    (Part.MEMORY, _MEMORY),
    (Part.BRIDGE, _BRIDGE),
    (Part.DRIVER, _DRIVER),
    (Part.STACK, _STACK),
)
_USER = (
    (
        Part.LOCKS,
        ("*pthread_mutex*", "*pthread_rwlock*", "*pthread_spin*", "*lll_lock*", "ovs_*lock*"),
    ),
    (
        Part.MEMORY,
        (
            *("*malloc*", "*calloc*", "*realloc*", "free", "cfree", "_int_free*", "*memcpy*"),
            *("*memmove*", "*memset*", "*memcmp*", "dp_packet_*", "xmalloc*", "rte_mempool_*"),
        ),
    ),
    (
        Part.DRIVER,
        (
            *("netdev_*", "rte_*", "eth_af_*", "xsk_*", "*send*", "*recv*", "sendmmsg"),
            *("poll", "__poll", "ppoll", "ioctl"),
        ),
    ),
)
"""What is left of the switch's own program is its bridge, also where it has no symbols."""

_SWITCH = "ovs-vswitchd"


@dataclass(frozen=True, slots=True)
class Sampled:
    """One sample: `period` is what it stands for, nanoseconds or events."""

    event: str
    program: str
    process: int
    symbol: str
    binary: str
    in_kernel: bool
    period: int

    @property
    def name(self) -> str:
        """The symbol without the suffixes of compiler and C library."""
        return self.symbol.partition("@")[0].partition(".")[0]


@dataclass(frozen=True, slots=True)
class Owners:
    """Processes that are measured: the generator, and the programs of the device."""

    sender: int
    programs: Collection[int]

    def part(self, sample: Sampled) -> Part | None:
        """The part that a sample belongs to; None for idle processors and other programs.

        Interrupts count where they hit ksoftirqd or an idle processor.  What they do while another
        program runs is not told from that program, and left out.
        """
        sender, device = sample.process == self.sender, sample.process in self.programs
        if not sample.in_kernel:
            return _user_part(sample) if device else None  # the generator spins there
        if matches(_INTERRUPTS, sample.name):
            return None
        part = _first(_KERNEL, sample.name, Part.REST)
        if part is Part.ENDS:  # the same system calls are the ports of a netdev datapath
            return part if sender else Part.DRIVER if device else None
        if sender or device or sample.program.startswith("ksoftirqd/"):
            return part
        return part if sample.process == 0 and part is not Part.REST else None


@cache
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{translate(one)})" for one in patterns))


def matches(patterns: tuple[str, ...], symbol: str) -> bool:
    """Whether one of the patterns matches the whole symbol."""
    return _pattern(patterns).match(symbol) is not None


def _user_part(sample: Sampled) -> Part:
    switch = sample.binary.rpartition("/")[2].startswith(_SWITCH)
    return _first(_USER, sample.name, Part.BRIDGE if switch else Part.REST)


def _first(table: tuple[tuple[Part, tuple[str, ...]], ...], symbol: str, otherwise: Part) -> Part:
    return next((part for part, patterns in table if matches(patterns, symbol)), otherwise)
