# SPDX-License-Identifier: Apache-2.0
"""The whole chain on three machines: replay (and a relay, where datagrams are to be hit one by one), daemon, receiver. It knows how to
start them and how to read their ledgers; which faults they meet is the rows' own."""
import contextlib
import json
import pathlib
import re
import signal
import sys
import time

import harness
import ledgers
import level2
import namespaces
from faults import Rules

HERE = pathlib.Path(__file__).resolve().parent
SMALL_CRATES = ["0-1: 1 x 125 MHz"]  # two fragments of 2080 bytes: a million events are 4 GB
RELAY_PORT = 9
SLOWER = 8 if harness.SANITIZED else 1  # than a row says: with a sanitizer the programs take that much less
SANITIZERS_REPORT = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:).*$", re.M)


class Chain(harness.Stage):
    crate_lines = SMALL_CRATES
    crates = level2.readout(SMALL_CRATES)
    input_host = namespaces.DAEMON
    receiver_host = namespaces.RECEIVER
    programs_run = 0  # by all chains
    reports = []  # of sanitizers

    def __init__(self):
        self.network = namespaces.Network()
        self.receiver_space = self.network.receiver
        self.set_up_stage()
        self.input_faults = Rules(self.network, self.network.daemon)
        self.line_faults = Rules(self.network, self.network.receiver)
        self.datagrams = ledgers.Datagrams(self.crates, self.chunk_bytes)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop_programs()
        Chain.programs_run += len(self.programs)
        Chain.reports += [f"{p.name()}: {line}" for p in self.programs for line in SANITIZERS_REPORT.findall(p.said())]
        if kind is not None and not issubclass(kind, Skipped):
            self.say_what_they_said()
        self.leave_stage()
        self.network.close()

    # Senders

    def write_events(self, spills, events, seed=1, first=1):
        """Makes them, and the file that replay sends `spills` times."""
        self.sent = ledgers.Sent(self.crates, spills, events, seed, first)
        self.sent_file = self.sent.write(self.folder / "sent.l2raw")
        return self.sent

    def start_relay(self, daemon, **faults):
        """Its journal is `relay.journal`."""
        journal = self.folder / "journal.jsonl"
        options = [x for name, value in faults.items() for x in (f"--{name.replace('_', '-')}", str(value))]
        relay = self.keep(harness.Program(
            [sys.executable, "-B", HERE / "relay.py", "--listen", f"{namespaces.SENDER}:{self.ports.udp + RELAY_PORT}", "--to",
             f"{namespaces.DAEMON}:{self.ports.udp}+{harness.UDP_PORTS}", "--journal", journal, "--watch", daemon.pid, *options],
            self.folder / "relay.log", space=self.network.sender))
        relay.wait_to_say("relaying")
        relay.journal_file = journal
        return relay

    def finish_relay(self, relay, replay_ledger):
        """Everything has left it; its journal. What replay sent must all have come to it."""
        if relay.stop() != 0:
            raise AssertionError(relay.said())
        journal = ledgers.Journal(relay.journal_file)
        sent = sum(replay_ledger["datagrams"][kind] for kind in ("data", "trailers", "end_of_spill"))
        # One that was interrupted counts a few datagrams that it did not send any more.
        least = sent if replay_ledger["clean"] else replay_ledger["events"]["admitted"] * len(self.datagrams.of_event(1))
        if not least <= journal.counts["taken"] <= sent:
            raise AssertionError(f"{sent} datagrams were sent, {journal.counts['taken']} came to the relay: this machine lost the others")
        return journal

    def replay(self, to, rate, *more):
        """`to`: udp, straight over all ports of the daemon, relay or tcp."""
        address = {"udp": f"udp://{namespaces.DAEMON}:{self.ports.udp}+{harness.UDP_PORTS}",
                   "relay": f"udp://{namespaces.SENDER}:{self.ports.udp + RELAY_PORT}+1",
                   "tcp": f"tcp://{namespaces.DAEMON}:{self.ports.tcp}"}[to]
        chunk = () if to == "tcp" else ("--chunk", self.chunk_bytes)
        rate = max(1, rate // SLOWER)
        p = self.start_tool("replay", self.sent_file, "--to", address, "--rate", f"{rate}ev/s", "--loop", self.sent.spills, "--ledger",
                            self.folder / "replay-ledger.json", *chunk, *more, space=self.network.sender)
        p.ledger = lambda: json.loads((self.folder / "replay-ledger.json").read_text())
        return p

    def finish_replay(self, replay, seconds=harness.PATIENCE):
        """Its ledger."""
        if replay.wait(seconds) != 0:
            raise AssertionError(f"replay failed: {replay.said()[-2000:]}")
        return replay.ledger()

    def interrupt_replay(self, replay):
        """Its ledger; it must not have been at its end."""
        if not replay.running():
            raise AssertionError("replay had ended before the last fault: this would prove less than it says")
        replay.signal(signal.SIGINT)
        replay.wait()
        return replay.ledger()

    # Ends

    def drain(self, daemon, seconds=harness.PATIENCE):
        """Until everything that came has found its end."""
        def quiet(s):
            return s["fragments"]["seen"] and not s["fragments"]["in_flight"] and not s["events"]["in_flight"]
        daemon.wait_for(lambda s: quiet(s) and quiet(daemon.status()), "everything to find its end", seconds)
        return self

    def drain_if_any(self, daemon):
        """As `drain`, but nothing need have come to this daemon: it may have been started a moment ago. What earlier ones left on disk is
        in flight for none of them, and must be in the store all the same."""
        def quiet(s):
            return not s["fragments"]["in_flight"] and not s["events"]["in_flight"] and not (s["spool"] and s["spool"]["events"])
        daemon.wait_for(lambda s: quiet(s) and s["uptime"] > 1.5, "nothing to be in flight or on disk")

    def stop_daemon(self, daemon):
        code = daemon.stop()
        if code != 0:
            raise AssertionError(f"koto-l3d ended with {code}: {daemon.said()[-2000:]}")
        return daemon.ledger()

    def receiver_ledger(self):
        return json.loads((self.store / "ledger.json").read_text())

    def stored_bytes(self):
        """What the receiver's files hold so far."""
        total = 0
        for path in self.store.glob("blocks-*.kl3"):
            with contextlib.suppress(FileNotFoundError):  # it got its complete name
                total += path.stat().st_size
        return total

    def wait_for_growth(self, seconds=harness.PATIENCE):
        """How long it takes until the store grows."""
        begun, before = time.monotonic(), self.stored_bytes()
        harness.wait_until(lambda: self.stored_bytes() > before, "the store to grow", seconds)
        return time.monotonic() - begun


class Skipped(Exception):
    """This machine, or this state of the programs, cannot do it; the text says what is missing."""


def unbalanced(ledger):
    """What of the two sums of docs/formats.md, section 10, does not hold."""
    events, fragments = ledger["events"], ledger["fragments"]
    found = []
    ends = events["forwarded"] + events["rejected"] + sum(events["shed"].values()) + events["in_flight"]
    if events["admitted"] != ends:
        found.append(f"{events['admitted']} events admitted, {ends} ends of them")
    ends = sum(fragments[fate] for fate in ("admitted", "incomplete", "late", "duplicate")) + sum(fragments["malformed"].values())
    if fragments["seen"] != ends:
        found.append(f"{fragments['seen']} fragments seen, {ends} ends of them")
    if not ledger["balanced"]:
        found.append("the ledger says that it does not balance")
    return found
