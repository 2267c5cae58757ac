/* The hot loop of the emulated switch, and of the null controller that finds its ceiling.
 *
 * Python does the talking (handshake, multiparts, groups, ...); this does what happens a hundred
 * thousand times a second: patch a host's MAC address into a pre-serialised packet-in, send it,
 * read flow-mods back and note which host each one is about.  Built with gcc at run time and
 * called through ctypes (native.py mirrors the struct), it returns to Python whenever the
 * controller says something that it does not know.
 *
 * A flow-mod is about the host whose MAC is its eth_src match, or, when it matches on no source,
 * its eth_dst.  So of the pair of flows that a two-table bridge installs both count for the new
 * host, and of a classic learning switch's (src, dst) flow the sender counts, which is the new host.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { HELLO = 0, ECHO_REQUEST = 2, ECHO_REPLY = 3, EXPERIMENTER = 4, PACKET_IN = 10,
       PACKET_OUT = 13, FLOW_MOD = 14, BARRIER_REQUEST = 20, BARRIER_REPLY = 21 };
enum { DONE, DEADLINE, OTHER, CLOSED, STALLED };
enum { RX_SIZE = 1 << 20, TX_CHUNK = 1 << 16, ECHO_XID = 0x65000000 };

struct pump {
    /* Traffic: one packet-in template a port, all of one length, used round robin. */
    const uint8_t *templates;
    uint32_t n_ports, template_len, src_at, dst_at;
    uint32_t first_host;   /* Host i has MAC 02:00 followed by first_host + i, big-endian. */
    uint32_t n_hosts;      /* Send this many packet-ins ... */
    uint32_t window;       /* ... with at most this many hosts unanswered. */
    uint32_t tracked;      /* Size of the arrays below; 0 when hosts are not tracked (a flood). */
    uint32_t expect;       /* Flow-mods that complete a host; 0 = unknown, first is enough. */
    uint32_t wait_complete;/* The window counts complete hosts, not merely learned ones. */
    uint32_t spin;         /* Never sleep in poll: for latencies. */
    uint32_t unicast;      /* To the host before this one; otherwise the template's destination. */
    int64_t interval_ns;   /* Paced sending: one packet-in every so often; 0 = flat out. */
    int64_t stall_ns;      /* Give up after this long without news. */
    /* Progress, kept over calls. */
    uint32_t sent, learned, complete, pad0;
    int64_t started_ns;
    int64_t *sent_ns, *first_ns, *last_ns;
    uint8_t *mods;
    uint64_t flow_mods, packet_outs, messages;
    /* Echo requests of our own, timed. */
    int64_t echo_every_ns, echo_next_ns;
    int64_t *echo_sent_ns, *echo_rtt_ns;
    uint32_t echoes, echo_cap;
    /* The flow-mods (whole messages, one after another) that Python has not seen yet. */
    uint8_t *log;
    uint64_t log_len, log_cap;
    /* The message that made pump_run return OTHER. */
    const uint8_t *other;
    uint32_t other_len;
    /* Buffers. */
    int32_t fd;
    uint8_t *rx, *tx;
    uint64_t rx_from, rx_to, tx_from, tx_to, tx_cap;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static uint32_t get16(const uint8_t *p) { return p[0] << 8 | p[1]; }
static uint32_t get32(const uint8_t *p) { return (uint32_t)get16(p) << 16 | get16(p + 2); }
static void put32(uint8_t *p, uint32_t v) { p[0] = v >> 24; p[1] = v >> 16; p[2] = v >> 8; p[3] = v; }

static uint8_t *reserve(struct pump *e, size_t len)
{
    if (e->tx_from && e->tx_to + len > e->tx_cap) {
        memmove(e->tx, e->tx + e->tx_from, e->tx_to - e->tx_from);
        e->tx_to -= e->tx_from;
        e->tx_from = 0;
    }
    if (e->tx_to + len > e->tx_cap) {
        e->tx_cap = 2 * (e->tx_to + len);
        e->tx = realloc(e->tx, e->tx_cap);
        if (!e->tx) abort();
    }
    e->tx_to += len;
    return e->tx + e->tx_to - len;
}

void pump_init(struct pump *e, int fd)
{
    memset(e, 0, sizeof *e);
    e->fd = fd;
    e->rx = malloc(RX_SIZE);
    e->tx = malloc(e->tx_cap = 4 * TX_CHUNK);
    if (!e->rx || !e->tx) abort();
}

void pump_free(struct pump *e) { free(e->rx); free(e->tx); free(e->log); }

void pump_queue(struct pump *e, const uint8_t *data, size_t len) { memcpy(reserve(e, len), data, len); }

static void log_flow_mod(struct pump *e, const uint8_t *m, size_t len)
{
    if (e->log_len + len > e->log_cap) {
        e->log_cap = 2 * (e->log_len + len) + (1 << 20);
        e->log = realloc(e->log, e->log_cap);
        if (!e->log) abort();
    }
    memcpy(e->log + e->log_len, m, len);
    e->log_len += len;
}

/* Read an ADD's eth_src or eth_dst and credit the host. */
static void flow_mod(struct pump *e, const uint8_t *m, uint32_t len, int64_t now)
{
    const uint8_t *mac = NULL;
    log_flow_mod(e, m, len);
    e->flow_mods++;
    if (len < 56 || m[25] != 0 /* OFPFC_ADD */)
        return;
    uint32_t match_len = get16(m + 50);
    const uint8_t *p = m + 52, *end = m + 48 + match_len;
    if (end > m + len)
        return;
    for (; p + 4 <= end; p += 4 + p[3]) {
        if (get16(p) != 0x8000 || p[3] != 6)
            continue;
        uint32_t field = p[2] >> 1;
        if (field == 4) { mac = p + 4; break; }  /* eth_src */
        if (field == 3) mac = p + 4;             /* eth_dst */
    }
    if (!mac || mac[0] != 2 || mac[1] != 0)
        return;
    uint32_t host = get32(mac + 2) - e->first_host;
    if (host >= e->tracked || host >= e->sent)
        return;
    if (!e->mods[host]++) {
        e->first_ns[host] = now;
        e->learned++;
    }
    if (e->mods[host] == e->expect) {
        e->last_ns[host] = now;
        e->complete++;
    }
}

/* Returns nonzero when Python must see the message. */
static int message(struct pump *e, uint8_t *m, uint32_t len, int64_t now)
{
    e->messages++;
    switch (m[1]) {
    case FLOW_MOD:
        flow_mod(e, m, len, now);
        return 0;
    case PACKET_OUT:
        e->packet_outs++;
        return 0;
    case ECHO_REQUEST: {
        uint8_t *r = reserve(e, len);
        memcpy(r, m, len);
        r[1] = ECHO_REPLY;
        return 0;
    }
    case ECHO_REPLY: {
        uint32_t i = get32(m + 4) - ECHO_XID;
        if (i < e->echoes)
            e->echo_rtt_ns[i] = now - e->echo_sent_ns[i];
        return 0;
    }
    case BARRIER_REQUEST: {
        uint8_t *r = reserve(e, 8);
        memcpy(r, m, 8);
        r[1] = BARRIER_REPLY;
        return 0;
    }
    case EXPERIMENTER: /* ONF bundle add: the message inside counts as if it came alone. */
        if (len >= 32 && get32(m + 8) == 0x4f4e4600 && get32(m + 12) == 2301 && m[25] == FLOW_MOD
            && 24 + get16(m + 26) <= len) {
            flow_mod(e, m + 24, get16(m + 26), now);
            return 0;
        }
        return 1;
    }
    return 1;
}

static uint32_t unanswered(const struct pump *e)
{
    return e->sent - (e->wait_complete && e->expect ? e->complete : e->learned);
}

/* Fill the transmit buffer with as many packet-ins as window, pace and buffer allow. */
static void generate(struct pump *e, int64_t now)
{
    uint64_t due = e->n_hosts;
    if (e->interval_ns) {
        due = (now - e->started_ns) / e->interval_ns + 1;
        if (due > e->n_hosts) due = e->n_hosts;
    }
    while (e->sent < due && e->tx_to - e->tx_from < TX_CHUNK
           && (!e->tracked || unanswered(e) < e->window)) {
        uint8_t *p = reserve(e, e->template_len);
        memcpy(p, e->templates + (size_t)(e->sent % e->n_ports) * e->template_len, e->template_len);
        put32(p + e->src_at + 2, e->first_host + e->sent);
        if (e->unicast)
            put32(p + e->dst_at + 2, e->first_host + e->sent - 1);
        if (e->tracked)
            e->sent_ns[e->sent] = now;
        e->sent++;
    }
}

static int finished(const struct pump *e)
{
    if (!e->n_hosts || !e->tracked || e->sent < e->n_hosts)
        return 0;
    return e->learned >= e->n_hosts && (!e->expect || e->complete >= e->n_hosts);
}

int pump_run(struct pump *e, int64_t deadline_ns)
{
    int64_t now = now_ns(), news = now;
    if (!e->started_ns)
        e->started_ns = now;
    for (;;) {
        /* What has arrived. */
        while (e->rx_to - e->rx_from >= 8) {
            uint8_t *m = e->rx + e->rx_from;
            uint32_t len = get16(m + 2);
            if (len < 8)
                return CLOSED;
            if (e->rx_to - e->rx_from < len)
                break;
            e->rx_from += len;
            if (m[1] != ECHO_REPLY && m[1] != ECHO_REQUEST)
                news = now;
            if (message(e, m, len, now)) {
                e->other = m;
                e->other_len = len;
                return OTHER;
            }
        }
        if (finished(e))
            return DONE;
        if (now >= deadline_ns)
            return DEADLINE;
        if (e->stall_ns && now - news > e->stall_ns)
            return STALLED;
        if (e->rx_from) {
            memmove(e->rx, e->rx + e->rx_from, e->rx_to - e->rx_from);
            e->rx_to -= e->rx_from;
            e->rx_from = 0;
        }

        /* What is to be said. */
        if (e->echo_every_ns && now >= e->echo_next_ns && e->echoes < e->echo_cap) {
            uint8_t *p = reserve(e, 8);
            memcpy(p, "\4\2\0\10", 4);
            put32(p + 4, ECHO_XID + e->echoes);
            e->echo_sent_ns[e->echoes] = now;
            e->echo_rtt_ns[e->echoes++] = -1;
            e->echo_next_ns = now + e->echo_every_ns;
        }
        generate(e, now);
        int blocked = 0;
        while (e->tx_from < e->tx_to && !blocked) {
            ssize_t n = send(e->fd, e->tx + e->tx_from, e->tx_to - e->tx_from,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0 && errno != EAGAIN && errno != EINTR)
                return CLOSED;
            if (n < 0)
                blocked = 1;
            else
                e->tx_from += n;
        }
        if (e->tx_from == e->tx_to)
            e->tx_from = e->tx_to = 0;

        ssize_t n = recv(e->fd, e->rx + e->rx_to, RX_SIZE - e->rx_to, MSG_DONTWAIT);
        now = now_ns();
        if (n > 0) {
            e->rx_to += n;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return CLOSED;
        if (e->spin)
            continue;
        int can_send = e->n_hosts > e->sent && !e->interval_ns
                       && (!e->tracked || unanswered(e) < e->window);
        if (can_send && !blocked)
            continue;
        struct pollfd p = { e->fd, POLLIN | (blocked ? POLLOUT : 0), 0 };
        poll(&p, 1, e->interval_ns ? 1 : 10);
        now = now_ns();
    }
}

/* The null controller: for each packet-in the given flow-mods with the frame's source patched in,
 * at `at[i]` of the reply. It decides nothing and remembers nothing, so what it reaches with the
 * emulator is the emulator's own limit. Returns when the peer closes. */
int null_serve(int fd, const uint8_t *reply, uint32_t reply_len, const uint32_t *at, uint32_t n_at)
{
    static uint8_t rx[RX_SIZE], tx[4 * RX_SIZE];
    size_t to = 0;
    for (;;) {
        ssize_t n = recv(fd, rx + to, RX_SIZE - to, 0);
        if (n <= 0)
            return 0;
        to += n;
        size_t from = 0, out = 0;
        while (to - from >= 8) {
            uint8_t *m = rx + from;
            uint32_t len = get16(m + 2);
            if (len < 8 || to - from < len)
                break;
            from += len;
            if (m[1] == PACKET_IN) {
                uint32_t match_len = get16(m + 26);
                const uint8_t *frame = m + 24 + (match_len + 7) / 8 * 8 + 2;
                memcpy(tx + out, reply, reply_len);
                for (uint32_t i = 0; i < n_at; i++)
                    memcpy(tx + out + at[i], frame + 6, 6);
                out += reply_len;
            } else if (m[1] == ECHO_REQUEST) {
                memcpy(tx + out, m, len);
                tx[out + 1] = ECHO_REPLY;
                out += len;
            }
        }
        memmove(rx, rx + from, to - from);
        to -= from;
        for (size_t sent = 0; sent < out;) {
            n = send(fd, tx + sent, out - sent, MSG_NOSIGNAL);
            if (n < 0)
                return -1;
            sent += n;
        }
    }
}
