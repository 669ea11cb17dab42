# SPDX-License-Identifier: Apache-2.0
"""R18–19 and R21–22: too much of what nobody wants, and strangers."""
import json
import random
import resource
import socket
import struct
import threading
import time

import harness
import l2raw
import ledgers
import level2
import line_sender
import namespaces
import stream_sender
from breaks import talk_nonsense
from chain import Chain, unbalanced
from level2_sender import UdpSender
from rows.full_faults import MostMemory
from table import Row

GOOD_RATE = 500  # events a second, over TCP, beside the flood
LINES_A_SECOND, SERIES = 20, 500
MOST_EVENTS = 4096
FLOOD_CRATES = ["0: 16 x 125 MHz"]
SLOW_SCRAPERS, SCRAPERS = 16, 8
STRANGE_SPILL = 511
PLACES, HELLO_LIMIT = 16, 5  # at the daemon's TCP input; seconds
MOST_A_SILENT_PEER = 32 << 10


def write_flood(c):
    """Events whose numbers are above what the daemon takes, to be sent in chunks of 4 bytes: 8292 bad datagrams each."""
    crates, path = level2.readout(FLOOD_CRATES), c.folder / "flood.l2raw"
    first = 4 * MOST_EVENTS
    l2raw.write(path, crates, {1: [level2.EventMaker(crates).fragments(1, n) for n in range(first, first + 20)]}, first=first)
    return path


def _take_time(c, daemon, events):
    """How long good data of so many events takes to be stored."""
    begun, before = time.monotonic(), daemon.status()["events"]["forwarded"]
    daemon.wait_for(lambda s: s["events"]["forwarded"] >= before + events, f"{events} more events stored")
    return time.monotonic() - begun


def floods(findings, plan):
    with Chain() as c:
        flood = write_flood(c)
        sent = c.write_events(spills=400, events=2500, seed=plan.seed)
        receiver, daemon = c.start_receiver(), c.start_daemon(building={"max_events_per_spill": MOST_EVENTS})
        replay = c.replay("tcp", GOOD_RATE)
        c.wait_for_growth()
        some = plan.pick(600, 20_000)
        quiet = _take_time(c, daemon, some)

        lines, begun = len(daemon.said().splitlines()), time.monotonic()
        bad = c.start_tool("replay", flood, "--to", f"udp://{namespaces.DAEMON}:{c.ports.udp}+{harness.UDP_PORTS}", "--rate", "max",
                           "--chunk", "4", "--loop", "1000000", "--ledger", c.folder / "flood.json", space=c.network.sender)
        flooded = _take_time(c, daemon, some)
        findings.check(bad.running(), "the flood had ended: this proves less than it says")
        bad.signal(harness.signal.SIGTERM)
        bad.wait()
        seconds = time.monotonic() - begun
        status = daemon.wait_for(lambda s: not daemon.waiting(), "the sockets to be empty")
        status = daemon.wait_for(lambda s: s["uptime"] > status["uptime"] + 1, "the next status")
        refused = sum(status["refused"].values())
        drops = sum(link["kernel_drops"] for link in status["links"])
        lines = len(daemon.said().splitlines()) - lines
        findings.check(refused > 10_000, f"only {refused} bad datagrams: this proves little")
        # Each time that the flood's file has been sent there is an end of spill, which is good.
        ends = json.loads((c.folder / "flood.json").read_text())["datagrams"]["end_of_spill"]
        good = status["links"][0]["datagrams"] - refused
        findings.check(0 <= good <= ends, f"bad datagrams received − refused: {good}, expected at most the {ends} ends of spill")
        findings.check(lines <= LINES_A_SECOND * seconds, f"{lines} lines of log in {seconds:.1f} s")
        findings.inject("bad datagrams", refused + drops)
        findings.inject("of them per second", round((refused + drops) / seconds))
        findings.see("refused and counted", refused)
        findings.see("dropped by the kernel and counted", drops)
        findings.see("lines of log meanwhile", lines)

        scraped, scraping = _scraped(c, daemon, some)
        series = len(daemon.metrics())
        findings.check(series <= SERIES, f"{series} series")
        findings.inject("scrapes", scraping)
        findings.inject("slow scrapers", SLOW_SCRAPERS)
        findings.see("series", series)
        for what, seconds in (("flood", flooded), ("scrapers", scraped)):
            findings.time(f"{some} good events, stored in {quiet:.2f} s before, under the {what}", seconds, 1.1 * quiet + 1)

        keys = sent.keys_of(c.interrupt_replay(replay))
        c.drain(daemon)
        ledger = c.stop_daemon(daemon)
        receiver.stop()
        found = ledgers.compare(sent, c.store, keys=keys)
        # An interrupted sender may not have been told of the last ones.
        findings.none([*found.faults(), *unbalanced(ledger)])
        findings.see("good events stored", len(found.stored))


def _scraped(c, daemon, some):
    stop, count = threading.Event(), [0] * SCRAPERS
    slow = [socket.create_connection((harness.HOST, c.ports.monitor)) for _ in range(SLOW_SCRAPERS)]

    def scrape(i):
        while not stop.is_set():
            try:
                daemon.get("/metrics")
                count[i] += 1
            except OSError:
                pass  # no place for one more
    threads = [threading.Thread(target=scrape, args=(i,), daemon=True) for i in range(SCRAPERS)]
    for t in threads:
        t.start()
    for s in slow:
        s.send(b"GET /metr")  # and never the rest
    seconds = _take_time(c, daemon, some)
    stop.set()
    for t in threads:
        t.join()
    for s in slow:
        s.close()
    return seconds, sum(count)


class Crowd:
    """Peers of one kind that are there at once, and what a program grows by meanwhile, a peer."""

    def __init__(self, findings, who, program, peers, what, most_a_peer=1 << 20):
        self._findings, self._who, self._program, self._peers, self._what, self._most = findings, who, program, peers, what, most_a_peer

    def __enter__(self):
        self._memory = MostMemory(self._program)
        self._sockets = []
        return self

    def come(self, network, space, to, say=b""):
        """One more."""
        with network.on(space):
            s = socket.create_connection(to)
        self._sockets.append(s)
        _say(s, say)

    def be_shut_out(self):
        """Until the program has closed every connection: who closes his own first has left and was not shut out."""
        for s in self._sockets:
            s.settimeout(harness.PATIENCE)
        self._findings.equal(f"{self._what} that were shut out", sum(_is_cut(lambda: s.recv(1 << 12)) for s in self._sockets), len(self._sockets))

    def __exit__(self, *_):
        grown = self._memory.end() - self._memory.first
        for s in self._sockets:
            s.close()
        self._findings.inject(self._what, self._peers)
        if harness.SANITIZED:
            return
        self._findings.see(f"MiB that the {self._who} grew for the {self._what}", round(grown / (1 << 20), 1))
        self._findings.check(grown <= self._peers * self._most, f"the {self._who} grew by {grown >> 10} KiB for {self._peers} {self._what}")


def strangers(findings, plan):
    """Each kind alone, as many at the receiver as at the daemon, while data flow. First those that announce most: memory that a program has
    had for one kind it may use for the next."""
    silent = plan.pick(1000, 10_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, silent + 1000)), hard))
    if harness.SANITIZED:
        findings.skip_part("how much memory strangers take: a sanitizer's own memory grows")
    with Chain() as c:
        sent = c.write_events(spills=400, events=2500, seed=plan.seed)
        keys = _make_keys(c)
        receiver = c.start_receiver("--secret-key", c.folder / "receiver.secret", "--allow", c.folder / "daemon.public")
        daemon = c.start_daemon(forward=keys["daemon"])
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", 1000)
        c.wait_for_growth()
        time.sleep(plan.pick(2, 10))  # both have the memory that they need for the data alone
        _strangers_at_the_daemon(findings, c, daemon, silent, random.Random(plan.seed))
        knocks = _strangers_at_the_receiver(findings, c, receiver, silent)
        for forward in (keys["stranger"], {}):
            _play_strange_daemon(c, forward)
        c.wait_for_growth()
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        keys = sent.keys_of(ledger_of_replay)
        daemon.wait_for_stored(len(keys))
        ledger = c.stop_daemon(daemon)
        findings.equal("the receiver's exit code", receiver.stop(), 0)
        shut_out = {why: c.receiver_ledger()["datagrams"]["malformed"][why] for why in ("unknown_key", "mechanism", "handshake")}
        findings.check(shut_out["unknown_key"] and shut_out["mechanism"] + shut_out["handshake"], f"strange daemons not counted: {shut_out}")
        findings.check(sum(shut_out.values()) >= knocks + 2, f"{knocks} connections and two daemons were shut out, counted are {shut_out}")
        found = ledgers.compare(sent, c.store, keys=keys)
        findings.none([*found.faults(), *unbalanced(ledger)])
        findings.inject("daemons without a known key", 2)
        findings.see("connections shut out by the receiver", sum(shut_out.values()))
        findings.see("events of strangers stored", len(found.strange))
        findings.see("events stored once, bit for bit", len(found.stored))
    with Chain() as c:
        _gibibytes_without_keys(findings, c)


def _strangers_at_the_daemon(findings, c, daemon, silent, rng):
    def refused(*reasons):
        counts = daemon.status()["refused"]
        return sum(counts[r] for r in reasons or counts)

    to, hello = (namespaces.DAEMON, c.ports.tcp), stream_sender.record(stream_sender.HELLO, 0, 1, stream_sender.hello_body(7, c.crates))
    event = stream_sender.record(stream_sender.EVENT, 1, 2, b"", length=1 << 30) + bytes(1 << 20)
    rounds = 3
    with Crowd(findings, "daemon", daemon, rounds * PLACES, "connections that announce a record of 1 GiB") as crowd:
        for n in range(rounds):
            for _ in range(PLACES):
                crowd.come(c.network, c.network.sender, to, hello + event)
            harness.wait_until(lambda: refused("stream_length") >= (n + 1) * PLACES, "records of 1 GiB to be counted")
    findings.equal("records of 1 GiB counted as too long", refused("stream_length"), rounds * PLACES)
    findings.see("records of 1 GiB refused and counted", refused("stream_length"))

    before, datagrams = refused(), 2000
    with c.network.on(c.network.sender):
        garbage = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with garbage:
        talk_nonsense(garbage, datagrams, rng, c.ports.udp)
    harness.wait_until(lambda: refused() >= before + datagrams, "garbage to be counted")
    findings.equal("datagrams of garbage refused", refused() - before, datagrams)
    findings.inject("datagrams of garbage", datagrams)
    findings.see("of them refused and counted", refused() - before)

    begun = time.monotonic()
    with Crowd(findings, "daemon", daemon, silent, "silent connections", MOST_A_SILENT_PEER) as crowd:
        for _ in range(silent):
            crowd.come(c.network, c.network.sender, to)
        # Who has a place loses it after the time for a hello, and so do those that had it next.
        had_a_place = PLACES * (1 + int((time.monotonic() - begun) // HELLO_LIMIT))
        harness.wait_until(lambda: refused("connection_limit") >= silent - had_a_place, "silent connections to be counted")
    findings.check(refused("connection_limit") <= silent, f"{refused('connection_limit')} connections refused, of {silent}")
    findings.see("of them without a place, and counted", refused("connection_limit"))


def _strangers_at_the_receiver(findings, c, receiver, silent):
    """How many there were."""
    to, huge, each = (namespaces.RECEIVER, c.ports.receiver), struct.pack(">BQ", line_sender.COMMAND | line_sender.LONG, 1 << 30), 50
    curve = line_sender.GREETING[:12] + b"CURVE".ljust(20, b"\0") + line_sender.GREETING[32:]
    for what, say in (("connections that announce a frame of 1 GiB", curve + huge + bytes(1 << 20)),
                      ("connections without a key that do", line_sender.GREETING + huge + bytes(1 << 20)),
                      ("connections with random bytes", random.Random(each).randbytes(3000))):
        with Crowd(findings, "receiver", receiver, each, what) as crowd:
            for _ in range(each):
                crowd.come(c.network, c.network.daemon, to, say)
            crowd.be_shut_out()
    with Crowd(findings, "receiver", receiver, silent, "silent connections", MOST_A_SILENT_PEER) as crowd:
        for _ in range(silent):
            crowd.come(c.network, c.network.daemon, to)
        crowd.be_shut_out()
    return 3 * each + silent


def _gibibytes_without_keys(findings, c):
    """Without keys everybody is let in, and may announce what he likes."""
    receiver, peers = c.start_receiver(), 50
    huge = struct.pack(">BQ", line_sender.LONG, 1 << 30)
    with c.network.on(c.network.daemon):
        crowd = [line_sender.LineSender(namespaces.RECEIVER, c.ports.receiver, harness.PATIENCE) for _ in range(peers)]
    with Crowd(findings, "receiver", receiver, peers, "peers that were let in without keys and announce a frame of 1 GiB"):
        for peer in crowd:
            _quietly(lambda: peer.send_raw(huge + bytes(1 << 20)))
        cut = sum(_is_cut(peer.receive) for peer in crowd)
    findings.equal("peers cut off, of those that announced 1 GiB", cut, peers)
    findings.equal("the receiver's exit code", receiver.stop(), 0)
    findings.equal("messages taken of them", c.receiver_ledger()["datagrams"]["received"], 0)


def _is_cut(read):
    """Whether what can be read ends, and not only the patience."""
    try:
        while read():
            pass
        return True
    except TimeoutError:
        return False
    except (OSError, AssertionError):
        return True


def _quietly(send):
    try:
        send()
    except OSError:
        pass  # it was shown the door


def _make_keys(c):
    """{who: the [forward] section of a daemon}; the receiver knows the key of `daemon`."""
    for name in ("receiver", "daemon", "stranger"):
        code, said = c.run_tool("keys", c.folder / name)
        if code != 0:
            raise AssertionError(said)
    return {name: {"secret_key": str(c.folder / f"{name}.secret"), "receiver_key": str(c.folder / "receiver.public")}
            for name in ("daemon", "stranger")}


def _play_strange_daemon(c, forward):
    """It has events to send, and the receiver does not take them."""
    mine = c.ports
    c.ports = harness.Ports()
    try:
        forward = {**forward, "to": f"tcp://{c.receiver_host}:{mine.receiver}"}
        config = c.write_config("strange.toml", run={"drain_time_limit": "1 s", "ledger": str(c.folder / "strange-ledger.json")},
                                forward=forward, spool={"folder": str(c.folder / "strange")})
        daemon = harness.Daemon(config, c.ports, c.folder)
        c.keep(daemon)
        harness.wait_until(lambda: "ready:" in daemon.said() or not daemon.running(), "the strange daemon")
        with UdpSender(c.crates, namespaces.DAEMON, c.ports.udp, harness.UDP_PORTS, c.chunk_bytes) as sender:
            for number in range(1, 11):
                sender.event(STRANGE_SPILL, number, c.sent.fragments(STRANGE_SPILL, number))
        daemon.wait_to_say("key")
        daemon.wait_for(lambda s: s["events"]["admitted"] == 10, "events of the strange daemon")
        daemon.stop()
    finally:
        c.ports = mine


def _say(s, data):
    s.settimeout(2)
    _quietly(lambda: s.sendall(data))


ROWS = [Row("R18–19", "floods of bad packets and scrapers", "≤ 20 lines/s, ≤ 500 series, data rate unchanged", floods),
        Row("R21–22", "strangers are refused and counted", "0 messages in, ≤ 1 MiB a peer", strangers)]
