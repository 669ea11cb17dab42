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


def strangers(findings, plan):
    silent = plan.pick(1000, 10_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * silent + 1000)), hard))
    with Chain() as c:
        sent = c.write_events(spills=400, events=2500, seed=plan.seed)
        keys = _make_keys(c)
        receiver = c.start_receiver("--secret-key", c.folder / "receiver.secret", "--allow", c.folder / "daemon.public")
        daemon = c.start_daemon(forward=keys["daemon"])
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", 1000)
        c.wait_for_growth()
        memory = {p: MostMemory(p) for p in (daemon, receiver)}
        rng, before = random.Random(plan.seed), daemon.status()
        datagrams, streams = 2000, 50
        with c.network.on(c.network.sender):
            garbage = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            peers = [socket.create_connection((namespaces.DAEMON, c.ports.tcp)) for _ in range(silent)]
        with c.network.on(c.network.daemon):
            line = [socket.create_connection((namespaces.RECEIVER, c.ports.receiver)) for _ in range(streams + silent // 10)]
        _talk_nonsense(c, rng, garbage, datagrams)
        for s in peers[:streams]:
            _say(s, rng.choice((rng.randbytes(3000), b"GET / HTTP/1.1\r\n\r\n",
                                stream_sender.record(stream_sender.EVENT, 1, 1, b"", length=1 << 30) + bytes(1 << 20))))
        for s in line[:streams]:
            huge = struct.pack(">BQ", line_sender.LONG, 1 << 30) + bytes(1 << 20)
            _say(s, rng.choice((rng.randbytes(3000), line_sender.GREETING + rng.randbytes(1000), line_sender.GREETING + huge)))
        for forward in (keys["stranger"], {}):
            _play_strange_daemon(c, forward)
        c.wait_for_growth()
        status = daemon.wait_for(lambda s: s["uptime"] > before["uptime"] + 3, "the next status")
        for s in (*peers, *line, garbage):
            s.close()
        refused = sum(status["refused"].values())
        findings.inject("datagrams of garbage", datagrams)
        findings.inject("silent connections", silent + silent // 10)
        findings.inject("connections with garbage or records and frames of 1 GiB", 2 * streams)
        findings.see("refused and counted", refused)
        findings.check(refused >= datagrams, f"{refused} refused of {datagrams} bad datagrams and many bad connections")
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        keys = sent.keys_of(ledger_of_replay)
        daemon.wait_for_stored(len(keys))
        for p, name in ((daemon, "daemon"), (receiver, "receiver")):
            grown = (memory[p].end() - memory[p].first) / (1 << 20)
            findings.see(f"MiB that the {name} grew", round(grown, 1))
            findings.check(grown <= silent, f"the {name} grew by {grown:.0f} MiB for {silent} peers")
        ledger = c.stop_daemon(daemon)
        findings.equal("the receiver's exit code", receiver.stop(), 0)
        shut_out = json.loads((c.store / "ledger.json").read_text())["datagrams"]["malformed"]
        shut_out = {why: shut_out[why] for why in ("unknown_key", "mechanism", "handshake")}
        findings.check(shut_out["unknown_key"] and shut_out["mechanism"] + shut_out["handshake"], f"strange daemons not counted: {shut_out}")
        found = ledgers.compare(sent, c.store, keys=keys)
        findings.none([*found.faults(), *unbalanced(ledger)])
        findings.inject("daemons without a known key", 2)
        findings.see("connections shut out by the receiver", sum(shut_out.values()))
        findings.see("events of strangers stored", len(found.strange))
        findings.see("events stored once, bit for bit", len(found.stored))


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
        config = c.write_config("strange.toml", run={"drain_time_limit": "1 s"}, forward=forward, spool={"folder": str(c.folder / "strange")})
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


def _talk_nonsense(c, rng, garbage, datagrams):
    """Datagrams that no crate sends: too short, of an event number that cannot be, of a wrong length."""
    for i in range(datagrams):
        kind = i % 3
        data = (rng.randbytes(rng.randrange(12)) if kind == 0 else struct.pack(">III", 0xF0000000 | i, 0, 0) + bytes(100) if kind == 1 else
                struct.pack(">III", 0, 0, 0) + rng.randbytes(rng.randrange(1, 3000)))
        garbage.sendto(data, (namespaces.DAEMON, c.ports.udp + i % harness.UDP_PORTS))
        if i % 64 == 0:
            time.sleep(0.001)


def _say(s, data):
    s.settimeout(2)
    try:
        s.sendall(data)
    except OSError:
        pass  # it was shown the door


ROWS = [Row("R18–19", "floods of bad packets and scrapers", "≤ 20 lines/s, ≤ 500 series, data rate unchanged", floods),
        Row("R21–22", "strangers are refused and counted", "0 messages in, ≤ 1 MiB a peer", strangers)]
