# SPDX-License-Identifier: Apache-2.0
"""R30: a daemon sends over four cables, of which one is pulled and plugged in again."""
import time

import ledgers
import namespaces
from chain import Chain, unbalanced
from table import Row

CABLE = 10e6  # bits a second that each of several takes
SHARE = 0.03  # that a pulled cable may cost beyond its own


def _growth(chain, seconds):
    """Bits a second that the store grows by."""
    begun, before = time.monotonic(), chain.stored_bytes()
    time.sleep(seconds)
    return (chain.stored_bytes() - before) * 8 / (time.monotonic() - begun)


class Cables:
    """Between a chain's daemon and its receiver, the one that every chain has among them. Each has a rate of its own."""

    def __init__(self, chain, count):
        self.network = chain.network
        self.names = [namespaces.TO_RECEIVER]
        self.ends = [(namespaces.DAEMON_OUT, namespaces.RECEIVER)]
        for n in range(1, count):
            near, far = f"10.77.{n + 2}.1", f"10.77.{n + 2}.2"
            self.network.join(f"to_receiver_{n}", self.network.daemon, near, f"cable_{n}", self.network.receiver, far)
            self.names.append(f"to_receiver_{n}")
            self.ends.append((near, far))
        for name in self.names:
            self.network.run("tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", f"{CABLE:.0f}", "burst", "64k", "latency", "50ms",
                             at=self.network.daemon)

    def ways(self, port):
        return [f"{near} to tcp://{far}:{port}" for near, far in self.ends]

    def pull(self, n, pulled=True):
        self.network.ip("link", "set", "dev", f"cable_{n}", "down" if pulled else "up", at=self.network.receiver)


def several_cables(findings, plan):
    """One daemon, four cables."""
    seconds = plan.pick(2, 10)
    events = plan.pick(30_000, 100_000)
    with Chain() as c:
        cables = Cables(c, 4)
        c.receiver_host = "*"
        sent = c.write_events(1, events, plan.seed)
        daemon = c.start_daemon(frames={"count": 4}, outbox={"block": "64 KiB", "memory": "64 MiB"},
                                forward={"rate": "unlimited", "to": f"tcp://{namespaces.RECEIVER}:{c.ports.receiver}", "from": cables.ways(c.ports.receiver)})
        c.finish_replay(c.replay("tcp", 100_000))
        receiver = c.start_receiver()
        c.wait_for_growth()
        rates = {}
        for state, pulled in (("with four", None), ("with one of them pulled", True), ("with four again", False)):
            if pulled is not None:
                cables.pull(2, pulled)
                time.sleep(1)  # a silent cable is left after 0.25 s, and what went over it goes again
            rates[state] = _growth(c, seconds)
            findings.see(f"Mb/s {state}", round(rates[state] / 1e6))
        findings.inject("cables pulled", 1)
        findings.check(daemon.status()["events"]["in_flight"] > 0, "all had left before the last was measured: this would prove less than it says")
        least, most = (0.6, 1.2) if plan.short else (0.75 - SHARE, 1.0125)  # two seconds tell little
        findings.check(rates["with four"] < most * 4 * CABLE and rates["with one of them pulled"] < most * 3 * CABLE,
                       f"more than the cables take: {rates}")
        findings.check(rates["with one of them pulled"] > least * rates["with four"], f"a cable that is pulled costs more than its share: {rates}")
        findings.check(rates["with four again"] > 1.15 * rates["with one of them pulled"], f"a cable that is there again is not used: {rates}")
        daemon.wait_for_stored(events)
        findings.none(unbalanced(c.stop_daemon(daemon)))
        findings.equal("the receiver's exit code", receiver.stop(), 0)
        found = ledgers.compare(sent, c.store)
        findings.none(found.faults())
        findings.see("events stored once, bit for bit", len(found.stored))


ROWS = [Row("R30", "several cables, one pulled", "≥ 0.72 of the rate with 3 of 4 (short form: 0.6), 0 lost", several_cables)]
