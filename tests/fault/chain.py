# SPDX-License-Identifier: Apache-2.0
"""The programs on three machines: replay (and a relay, where datagrams are to be hit one by one), daemon, receiver. It starts them and
reads their ledgers; scenario.py says which faults they meet."""
import contextlib
import json
import pathlib
import re
import time

import harness
import ledgers
import level2
import namespaces
from managing import RunControl
from relay import Relay

HERE = pathlib.Path(__file__).resolve().parent
SMALL_CRATES = ["0-1: 1 x 125 MHz"]  # two fragments of 2080 bytes: a million events are 4 GB
RELAY_PORT = 9
SLOWER = 8 if harness.SANITIZED else 1  # than a row says: with a sanitizer the programs take that much less
SANITIZERS_REPORT = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:).*$", re.M)


class Skipped(Exception):
    """This machine, or this state of the programs, cannot do it; the text says what is missing."""


class Node(RunControl):
    """A daemon beside others: its number, folder, ports and settings, and its machine."""
    host, space = harness.HOST, None

    def __init__(self, chain, number, ports=None, **settings):
        self.chain, self.number, self.ports, self.settings = chain, number, ports or harness.Ports(), settings
        self.folder = chain.folder / f"node-{number}"
        self.folder.mkdir(exist_ok=True)
        super().__init__(self.folder / "control.sock")

    def begin(self, **sections):
        binds = (("udp", self.ports.udp), ("tcp", self.ports.tcp), ("monitor", self.ports.monitor))
        config = self.chain.write_config(f"node-{self.number}.toml", **harness.merged(
            {name: {"bind": f"{self.host}:{port}"} for name, port in binds},
            {"run": {"node": self.number, "ledger": str(self.folder / "daemon-ledger.json")}, "spool": {"folder": str(self.folder / "spool")}},
            self.settings, sections))
        self.daemon = self.chain.keep(harness.Daemon(config, self.ports, self.folder, space=self.space))
        self.daemon.host = self.host
        return self


class Chain(harness.Stage):
    crate_lines = SMALL_CRATES
    crates = level2.readout(SMALL_CRATES)
    input_host = namespaces.DAEMON
    receiver_host = namespaces.RECEIVER
    programs_run = 0  # by all chains
    reports = []  # of sanitizers

    def __init__(self, network, ports=None):
        self.network = network
        self.set_up_stage(ports)
        self.ending = contextlib.ExitStack()  # what is to be undone when the programs have ended
        self.datagrams = ledgers.Datagrams(self.crates, self.chunk_bytes)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop_programs()
        Chain.programs_run += len(self.programs)
        Chain.reports += [f"{p.name()}: {line}" for p in self.programs for line in SANITIZERS_REPORT.findall(p.said())]
        if kind is not None and not issubclass(kind, Skipped):
            self.say_what_they_said()
        self.ending.close()
        self.leave_stage()
        self.network.close()

    def write_events(self, spills, events, seed=1, first=1):
        """Makes them, and the file that replay sends `spills` times."""
        self.sent = ledgers.Sent(self.crates, spills, events, seed, first)
        self.sent_file = self.sent.write(self.folder / "sent.l2raw")

    # Senders

    def start_relay(self, seed, **faults):
        relay = Relay(self.network.sender, self.ports.udp + RELAY_PORT, (namespaces.DAEMON, self.ports.udp), self.daemon.pid, seed, **faults)
        self.ending.callback(relay.kill)
        return relay

    def finish_relay(self, relay, replay_ledger):
        """What replay sent must all have come to it."""
        taken, sent = relay.finish().counts["taken"], sum(replay_ledger["datagrams"][kind] for kind in ("data", "trailers", "end_of_spill"))
        # One that was interrupted counts a few datagrams that it did not send any more.
        least = sent if replay_ledger["clean"] else replay_ledger["events"]["admitted"] * len(self.datagrams.of_event(1))
        if not least <= taken <= sent:
            raise AssertionError(f"{sent} datagrams were sent, {taken} came to the relay: this machine lost the others")
        return relay

    def addresses(self, over):
        """`over`: udp, straight to all ports of the daemon, relay or tcp."""
        return ["--to", {"udp": f"udp://{namespaces.DAEMON}:{self.ports.udp}+{harness.UDP_PORTS}",
                         "relay": f"udp://{namespaces.SENDER}:{self.ports.udp + RELAY_PORT}+1",
                         "tcp": f"tcp://{namespaces.DAEMON}:{self.ports.tcp}"}[over]]

    def start_replay(self, over, rate, *more, space=None):
        chunk = () if over == "tcp" else ("--chunk", self.chunk_bytes)
        p = self.start_tool("replay", self.sent_file, *self.addresses(over), "--rate", f"{max(1, rate // SLOWER)}ev/s", "--loop",
                            self.sent.spills, "--ledger", self.folder / "replay-ledger.json", *chunk, *more, space=space)
        p.ledger = lambda: json.loads((self.folder / "replay-ledger.json").read_text())
        return p

    # Ends

    def drain(self, daemon):
        """Until everything that came has found its end. /status is up to a second old."""
        now = daemon.status()["uptime"]
        daemon.wait_for(lambda s: s["uptime"] > now + 1 and not s["fragments"]["in_flight"] and not s["events"]["in_flight"] and
                        not (s["spool"] and s["spool"]["events"]), "nothing to be in flight or on disk")

    def stored_bytes(self):
        """What the receiver's files hold so far."""
        total = 0
        for path in self.store.glob("blocks-*.kl3"):
            with contextlib.suppress(FileNotFoundError):  # it got its complete name
                total += path.stat().st_size
        return total

    def wait_for_growth(self):
        """How long it takes until the store grows."""
        begun, before = time.monotonic(), self.stored_bytes()
        harness.wait_until(lambda: self.stored_bytes() > before, "the store to grow")
        return time.monotonic() - begun
