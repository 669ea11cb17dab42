# SPDX-License-Identifier: Apache-2.0
"""R18–19 and R21–22: too much of what nobody wants, strangers, and receivers that are wrong."""
import contextlib
import json
import random
import resource
import signal
import socket
import struct
import threading
import time

import harness
import l2raw
import level2
import link_sender
import namespaces
import stream_sender
from breaks import Watch, send_garbage
from level2_sender import UdpSender
from link_receiver import LinkReceiver
from link_sender import ACKNOWLEDGEMENT, COMMAND, GREETING, HELLO, LONG, MORE, WELCOME
from scenario import Scenario
from table import Row

GOOD_RATE = 500  # events a second, over TCP, beside the flood
LINES_A_SECOND, SERIES = 20, 500
MOST_EVENTS = 4096
FLOOD_CRATES = ["0: 16 x 125 MHz"]
SLOW_SCRAPERS, SCRAPERS = 16, 8
STRANGE_SPILL = 511
PLACES, HELLO_LIMIT = 16, 5  # at the daemon's TCP input; seconds
MOST_A_SILENT_PEER = 32 << 10
GIBIBYTE = struct.pack(">BQ", LONG, 1 << 30)  # the head of a frame


# R18–19

def write_flood(run):
    """Events whose numbers are above the largest that the daemon takes, to be sent in chunks of 4 bytes: 8292 bad datagrams each."""
    crates, run.flood = level2.readout(FLOOD_CRATES), run.folder / "flood.l2raw"
    first = 4 * MOST_EVENTS
    l2raw.write(run.flood, crates, {1: [level2.EventMaker(crates).fragments(1, n) for n in range(first, first + 20)]}, first=first)


def time_for(run, events):
    """How long good data of so many events takes to be stored."""
    begun, before = time.monotonic(), run.daemon.status()["events"]["forwarded"]
    run.wait_for(lambda s: s["events"]["forwarded"] >= before + events, f"{events} more events stored")
    return time.monotonic() - begun


def flood(run):
    run.wait_for_growth()
    some = run.plan.pick(600, 20_000)
    quiet = time_for(run, some)
    lines, begun = len(run.daemon.said().splitlines()), time.monotonic()
    bad = run.start_tool("replay", run.flood, *run.addresses("udp"), "--rate", "unlimited", "--chunk", "4", "--loop", "1000000", "--ledger",
                         run.folder / "flood.json", space=run.network.sender)
    flooded = time_for(run, some)
    run.findings.check(bad.running(), "the flood had ended: this proves less than it says")
    bad.stop()
    seconds = time.monotonic() - begun
    status = run.wait_for(lambda s: not run.daemon.waiting(), "the sockets to be empty")
    status = run.wait_for(lambda s: s["uptime"] > status["uptime"] + 1, "the next status")
    refused, drops = sum(status["refused"].values()), sum(link["kernel_drops"] for link in status["links"])
    lines = len(run.daemon.said().splitlines()) - lines
    run.findings.check(refused > 10_000, f"only {refused} bad datagrams: this proves little")
    # Each time that the flood's file has been sent there is an end of spill, which is good.
    ends = json.loads((run.folder / "flood.json").read_text())["datagrams"]["end_of_spill"]
    good = status["links"][0]["datagrams"] - refused
    run.findings.check(0 <= good <= ends, f"bad datagrams received − refused: {good}, expected at most the {ends} ends of spill")
    run.findings.check(lines <= LINES_A_SECOND * seconds, f"{lines} lines of log in {seconds:.1f} s")
    run.findings.inject("bad datagrams", refused + drops)
    run.findings.inject("of them per second", round((refused + drops) / seconds))
    run.findings.see("refused and counted", refused)
    run.findings.see("dropped by the kernel and counted", drops)
    run.findings.see("lines of log meanwhile", lines)
    scraped, scrapes = scrape(run, some)
    series = len(run.daemon.metrics())
    run.findings.check(series <= SERIES, f"{series} series")
    run.findings.inject("scrapes", scrapes)
    run.findings.inject("slow scrapers", SLOW_SCRAPERS)
    run.findings.see("series", series)
    for what, seconds in (("flood", flooded), ("scrapers", scraped)):
        run.findings.time(f"{some} good events, stored in {quiet:.2f} s before, under the {what}", seconds, 1.1 * quiet + 1)


def scrape(run, some):
    stop, count = threading.Event(), [0] * SCRAPERS

    def scrape_on(i):
        while not stop.is_set():
            with contextlib.suppress(OSError):  # no place for one more
                run.daemon.get("/metrics")
                count[i] += 1
    threads = [threading.Thread(target=scrape_on, args=(i,), daemon=True) for i in range(SCRAPERS)]
    with contextlib.ExitStack() as open_ones:
        for _ in range(SLOW_SCRAPERS):
            slow = open_ones.enter_context(socket.create_connection((harness.HOST, run.ports.monitor)))
            slow.send(b"GET /metr")  # and never the rest
        for t in threads:
            t.start()
        seconds = time_for(run, some)
        stop.set()
        for t in threads:
            t.join()
    return seconds, sum(count)


# R21–22

class Crowd:
    """Peers of one kind that are there at once, and the memory that a program grows by meanwhile, a peer."""

    def __init__(self, run, who, peers, what, most_a_peer=1 << 20):
        self._run, self._who, self._peers, self._what, self._most = run, who, peers, what, most_a_peer

    def __enter__(self):
        self._memory, self._sockets = Watch(getattr(self._run, self._who).memory), []
        return self

    def come(self, space, to, say=b""):
        """One more."""
        with self._run.network.on(space):
            s = socket.create_connection(to)
        self._sockets.append(s)
        s.settimeout(2)
        with contextlib.suppress(OSError):  # it was shown the door
            s.sendall(say)

    def be_shut_out(self):
        """Until the program has closed every connection: who closes his own first has left and was not shut out."""
        for s in self._sockets:
            s.settimeout(harness.PATIENCE)
        self._run.findings.equal(f"{self._what} that were shut out", sum(_is_cut(lambda: s.recv(1 << 12)) for s in self._sockets), len(self._sockets))

    def __exit__(self, *_):
        grown = self._memory.end() - self._memory.first
        for s in self._sockets:
            s.close()
        self._run.findings.inject(self._what, self._peers)
        if harness.SANITIZED:
            return
        self._run.findings.see(f"MiB that the {self._who} grew for the {self._what}", round(grown / (1 << 20), 1))
        self._run.findings.check(grown <= self._peers * self._most, f"the {self._who} grew by {grown >> 10} KiB for {self._peers} {self._what}")


def _is_cut(read):
    """Whether the connection ends, and not only the patience."""
    try:
        while read():
            pass
        return True
    except TimeoutError:
        return False
    except (OSError, AssertionError):
        return True


def have_keys(run):
    """The receiver knows the key of `daemon`."""
    for name in ("receiver", "daemon", "stranger"):
        code, said = run.run_tool("keys", run.folder / name)
        run.findings.equal(f"koto-l3 keys, which said {said}", code, 0)
    run.options = ("--secret-key", run.folder / "receiver.secret", "--allow", run.folder / "daemon.public")
    run.sections["forward"] = forward_by_key(run, "daemon")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, many(run) + 1000)), hard))


def forward_by_key(run, name):
    return {"secret_key": str(run.folder / f"{name}.secret"), "receiver_key": str(run.folder / "receiver.public")}


def many(run):
    return run.plan.pick(1000, 10_000)


def strangers(run):
    """Each kind alone, as many at the receiver as at the daemon. First those that announce most: memory that a program has had for one kind
    it may use for the next."""
    run.wait_for_growth()
    time.sleep(run.plan.pick(2, 10))  # both have the memory that they need for the data alone
    strangers_at_the_daemon(run)
    run.knocks = strangers_at_the_receiver(run)
    for forward in (forward_by_key(run, "stranger"), {}):
        strange_daemon(run, forward)
    run.wait_for_growth()


def strangers_at_the_daemon(run):
    def refused(*reasons):
        counts = run.daemon.status()["refused"]
        return sum(counts[r] for r in reasons or counts)

    to, hello = (namespaces.DAEMON, run.ports.tcp), stream_sender.record(stream_sender.HELLO, 0, 1, stream_sender.hello_body(7, run.crates))
    event = stream_sender.record(stream_sender.EVENT, 1, 2, b"", length=1 << 30) + bytes(1 << 20)
    rounds, sender = 3, run.network.sender
    with Crowd(run, "daemon", rounds * PLACES, "connections that announce a record of 1 GiB") as crowd:
        for n in range(rounds):
            for _ in range(PLACES):
                crowd.come(sender, to, hello + event)
            harness.wait_until(lambda: refused("stream_length") >= (n + 1) * PLACES, "records of 1 GiB to be counted")
    run.findings.equal("records of 1 GiB counted as too long", refused("stream_length"), rounds * PLACES)
    before, datagrams = refused(), 2000
    send_garbage(run, datagrams)
    harness.wait_until(lambda: refused() >= before + datagrams, "garbage to be counted")
    run.findings.equal("datagrams of garbage refused", refused() - before, datagrams)
    begun, silent = time.monotonic(), many(run)
    with Crowd(run, "daemon", silent, "silent connections", MOST_A_SILENT_PEER) as crowd:
        for _ in range(silent):
            crowd.come(sender, to)
        # A connection loses its place after the time for a hello, and so do those that had it next.
        had_a_place = PLACES * (1 + int((time.monotonic() - begun) // HELLO_LIMIT))
        harness.wait_until(lambda: refused("connection_limit") >= silent - had_a_place, "silent connections to be counted")
    run.findings.check(refused("connection_limit") <= silent, f"{refused('connection_limit')} connections refused, of {silent}")
    run.findings.see("of them without a place, and counted", refused("connection_limit"))


def strangers_at_the_receiver(run):
    """How many there were."""
    to, command, each, silent = (namespaces.RECEIVER, run.ports.receiver), struct.pack(">BQ", COMMAND | LONG, 1 << 30), 50, many(run)
    curve = GREETING[:12] + b"CURVE".ljust(20, b"\0") + GREETING[32:]
    for what, peers, most, say in (("connections that announce a frame of 1 GiB", each, 1 << 20, curve + command + bytes(1 << 20)),
                                   ("connections without a key that do", each, 1 << 20, GREETING + command + bytes(1 << 20)),
                                   ("connections with random bytes", each, 1 << 20, random.Random(each).randbytes(3000)),
                                   ("silent connections", silent, MOST_A_SILENT_PEER, b"")):
        with Crowd(run, "receiver", peers, what, most) as crowd:
            for _ in range(peers):
                crowd.come(run.network.daemon, to, say)
            crowd.be_shut_out()
    return 3 * each + silent


def strange_daemon(run, forward):
    """It has events to send, and the receiver does not take them."""
    mine, run.ports = run.ports, harness.Ports()
    try:
        config = run.write_config("strange.toml", run={"drain_time_limit": "1 s", "ledger": str(run.folder / "strange-ledger.json")},
                                  forward=forward | {"to": f"tcp://{run.receiver_host}:{mine.receiver}"}, spool={"folder": str(run.folder / "strange")})
        daemon = run.keep(harness.Daemon(config, run.ports, run.folder)).ready()
        with UdpSender(run.crates, namespaces.DAEMON, run.ports.udp, harness.UDP_PORTS, run.chunk_bytes) as sender:
            for number in range(1, 11):
                sender.event(STRANGE_SPILL, number, run.sent.fragments(STRANGE_SPILL, number))
        daemon.wait_to_say("key")
        daemon.wait_for(lambda s: s["events"]["admitted"] == 10, "events of the strange daemon")
        daemon.stop()
    finally:
        run.ports = mine
    run.findings.inject("daemons without a known key", 1)


def strangers_are_counted(run):
    shut_out = {why: run.receiver_ledger()["datagrams"]["malformed"][why] for why in ("unknown_key", "mechanism", "handshake")}
    run.findings.check(shut_out["unknown_key"] and shut_out["mechanism"] + shut_out["handshake"], f"strange daemons not counted: {shut_out}")
    run.findings.check(sum(shut_out.values()) >= run.knocks + 2, f"{run.knocks} connections and two daemons were shut out, counted are {shut_out}")
    run.findings.see("connections shut out by the receiver", sum(shut_out.values()))
    run.findings.see("events of strangers stored", len(run.found.strange))


def on_the_link(run):
    with run.network.on(run.network.daemon):
        return link_sender.LinkSender(namespaces.RECEIVER, run.ports.receiver, harness.PATIENCE)


def let_in_without_keys(run):
    """Peers that announce a frame of 1 GiB, or say messages that are none of the link's."""
    peers, rng = 50, random.Random(33)
    run.wait_for_growth()
    crowd = [on_the_link(run) for _ in range(peers)]
    with Crowd(run, "receiver", peers, "peers that were let in without keys and announce a frame of 1 GiB"):
        for peer in crowd:
            with contextlib.suppress(OSError):
                peer.send_raw(GIBIBYTE + bytes(1 << 20))
        run.findings.equal("peers cut off, of those that announced 1 GiB", sum(_is_cut(peer.receive) for peer in crowd), peers)
    for n in range(peers):
        with on_the_link(run) as peer:
            session = rng.getrandbits(64)
            for frames in ((rng.randbytes(rng.randint(0, 100)),), (rng.randbytes(32), rng.randbytes(rng.randint(0, 5000))),
                           [rng.randbytes(rng.randint(0, 40)) for _ in range(rng.randint(1, 9))],
                           (link_sender.header(link_sender.BLOCK, session, 1, crc=1), b""),
                           (link_sender.header(link_sender.BLOCK, session, 1, version=9), b""), (link_sender.header(99, session), b"")):
                peer.send(*frames)
    run.findings.inject("peers that say garbage", peers)
    run.wait_for_growth()


def reset_with_messages(run):
    """Messages stay in the library until the receiver, which is suspended, reads them; their connection is reset meanwhile. ZeroMQ 4.3.4
    aborts there if a socket at its high-water mark has heartbeats."""
    run.wait_for_growth()
    peer = on_the_link(run)
    run.receiver.signal(signal.SIGSTOP)
    peer.send_raw((bytes([MORE, 1]) + b"x" + bytes([0, 1]) + b"y") * 400)
    peer.reset()
    run.receiver.signal(signal.SIGCONT)
    time.sleep(2)  # heartbeats come each second
    run.findings.check(run.receiver.running(), run.receiver.said())
    run.findings.inject("resets with messages before a suspended receiver", 1)
    run.wait_for_growth()


def more_than_descriptors(run):
    """ZeroMQ spins where accept() finds no descriptor: the receiver raises its soft limit, which is 128 here."""
    run.wait_for_growth()  # the sender is connected
    with contextlib.ExitStack() as open_ones, run.network.on(run.network.daemon):
        for _ in range(700):
            open_ones.enter_context(socket.create_connection((namespaces.RECEIVER, run.ports.receiver)))
        run.kill_daemon()
        run.begin_daemon()
        run.wait_for_growth()
    run.findings.inject("connections beyond the soft limit of descriptors", 700 - 128)
    run.findings.check("Too many open files" not in run.receiver.said(), "the receiver has too few descriptors")


class WrongReceiver(threading.Thread):
    """`answer(kind)` gives the (kind, sequence) of what is said to a message, `times` in one go. If that is more than once, it breaks off then,
    while the daemon is in the middle of a message."""

    def __init__(self, run, answer, times):
        super().__init__(daemon=True)
        self.answer, self.times, self.connections, self.over = answer, times, 0, False
        with run.network.on(run.network.receiver):
            self.peer = LinkReceiver(namespaces.RECEIVER, run.ports.receiver, harness.PATIENCE)
        self.start()

    def run(self):
        while not self.over:
            with contextlib.suppress(OSError, AttributeError):  # one of the two has gone
                self.peer.accept()
                self.connections += 1
                while True:
                    kind, session, *_ = self.peer.receive()
                    heads = [link_sender.header(said, session, number, 0xFFFFFFFF) for said, number in self.answer(kind)]
                    self.peer.send_raw(b"".join(bytes([MORE, len(head)]) + head + b"\0\0" for head in heads) * self.times)
                    if self.times > 1:
                        self.peer.reset()

    def stop(self):
        self.over = True
        self.peer._listener.shutdown(socket.SHUT_RDWR)
        self.peer.close()


def wrong_receiver(answer, times=1):
    """Everything is on disk. The daemon lets no block go for a wrong claim, and says so; an honest receiver gets everything."""
    def fault(run):
        run.finish_replay()
        wrong = WrongReceiver(run, answer, times)
        if times == 1:
            run.wait_for(lambda s: "receiver_wrong" in s["state"]["degraded"] and s["receiver"]["impossible_claims"] >= run.plan.pick(1, 3), "the daemon to see it")
            run.daemon.wait_to_say("the receiver claims to have blocks up to")
        else:
            harness.wait_until(lambda: wrong.connections > 60 or not run.daemon.running(), "60 connections")
        status = run.daemon.status()
        run.findings.equal("forwarded, on disk", (status["events"]["forwarded"], status["spool"]["events"]), (0, len(run.sent.keys())))
        wrong.stop()
        run.findings.inject("wrong receivers", 1)
        run.begin_receiver()
        run.wait_for_empty_spool()
        run.wait_for(lambda s: s["state"]["degraded"] == [], "no trouble")
    return fault


def other_programs(run):
    """At the receiver's address. ZeroMQ gives up an address at which a peer broke its protocol; the daemon connects again."""
    run.finish_replay()
    for data in (GREETING + bytes([MORE | LONG]) + (1 << 20).to_bytes(8, "big"), b"HTTP/1.1 400 No\r\n\r\n" * 10):
        with run.network.on(run.network.receiver), socket.create_server((namespaces.RECEIVER, run.ports.receiver)) as other:
            other.settimeout(harness.PATIENCE)
            with other.accept()[0] as connection:
                connection.settimeout(harness.PATIENCE)
                connection.sendall(data)
                _is_cut(lambda: connection.recv(4096))
        run.findings.inject("programs that break the protocol", 1)
    run.begin_receiver()
    run.wait_for_empty_spool()


def strange_peers(plan):
    if harness.SANITIZED:
        yield lambda findings, plan: findings.skip_part("how much memory strangers take: a sanitizer's own memory grows")
    yield Scenario("with keys", prepare=have_keys, fault=strangers, rate=1000, judge=strangers_are_counted)
    slow = {"over": "tcp", "rate": 200}
    yield Scenario("let in", fault=let_in_without_keys, **slow)
    yield Scenario("reset", fault=reset_with_messages, **slow)
    yield Scenario("few descriptors", receiver_through=("prlimit", "--nofile=128:2048"), fault=more_than_descriptors, **slow)
    disk = {"over": "tcp", "rate": 100_000, "spills": 1, "events": 500, "to_the_end": True, "receiver": None,
            "daemon": {"spool": {"use": "always"}, "outbox": {"memory": "1 MiB", "block": "16 KiB"}}}
    yield Scenario("blocks that were never sent are there", fault=wrong_receiver(lambda kind: [(WELCOME, 1 << 63)] if kind == HELLO else []), **disk)
    yield Scenario("acknowledged before it was sent", **disk, fault=wrong_receiver(
        lambda kind: [(WELCOME, 0), (ACKNOWLEDGEMENT, 1 << 40)] if kind == HELLO else [(ACKNOWLEDGEMENT, 5000)]))
    yield Scenario("breaks off", fault=wrong_receiver(lambda kind: [(WELCOME, 0)], times=3000), **disk)
    yield Scenario("other programs", fault=other_programs, **disk)


ROWS = [Row("R18–19", "floods of bad packets and scrapers", "≤ 20 lines/s, ≤ 500 series, data rate unchanged", lambda plan: [
            Scenario(over="tcp", rate=GOOD_RATE, prepare=write_flood, fault=flood, daemon={"building": {"max_events_per_spill": MOST_EVENTS}})]),
        Row("R21–22", "strangers are refused and counted", "0 messages in, ≤ 1 MiB a peer", strange_peers)]
