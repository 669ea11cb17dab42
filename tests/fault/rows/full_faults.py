# SPDX-License-Identifier: Apache-2.0
"""R8 and R9: nobody takes the data, and there is no room for more."""
import os
import threading
import time

import harness
import ledgers
from chain import Chain, unbalanced
from rows.full_disk import small_disk
from table import Row

# The outbox is the part that fills; frames make the plan large beside what the program itself needs.
SMALL_OUTBOX = {"outbox": {"memory": "4 MiB", "block": "64 KiB"}, "frames": {"count": 16, "events": 256}}
DISK, FLOOR = 24, 8  # MiB
DRAIN = 1.3  # times the input
LONGEST_OUTAGE = 1500  # seconds: then the numbers of spills come again


class MostMemory:
    """The most that a program held resident, looked at ten times a second."""

    def __init__(self, program):
        self.most = self.first = program.memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, args=(program,), daemon=True)
        self._thread.start()

    def _look(self, program):
        while not self._stop.wait(0.1) and program.running():
            self.most = max(self.most, program.memory())

    def end(self):
        self._stop.set()
        self._thread.join()
        return self.most


def receiver_stopped(findings, plan):
    """At full input: memory stays what was planned, then a small disk is filled down to its floor, and what there is no room for then is
    shed as whole events, and counted."""
    with Chain() as c, small_disk(c, DISK) as disk:
        spool = {"folder": str(disk / "spool"), "size": "64 MiB", "segment": "4 MiB", "floor": f"{FLOOR} MiB"}
        sent = c.write_events(spills=500, events=5000, seed=plan.seed)
        receiver, daemon = c.start_receiver(), c.start_daemon(**SMALL_OUTBOX, spool=spool)
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", plan.pick(4000, 1400))
        c.wait_for_growth()
        memory = MostMemory(daemon)
        receiver.signal(harness.signal.SIGSTOP)
        begun, seconds = time.monotonic(), plan.pick(3, min(plan.minutes * 60, LONGEST_OUTAGE))
        daemon.wait_for(lambda s: sum(s["events"]["shed"].values()) > 1000, "shedding")
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        stopped = time.monotonic() - begun
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize / (1 << 20)
        findings.check(free >= FLOOR, f"{free:.1f} MiB are free on the spool's disk, of which {FLOOR} were to be left alone")
        findings.see("MiB on disk", DISK - round(free))
        receiver.signal(harness.signal.SIGCONT)
        findings.time("flowing after it", c.wait_for_growth(), 2)
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        c.drain(daemon)
        planned = daemon.status()["memory_planned"]
        most = memory.end()
        ledger = c.stop_daemon(daemon)
        receiver.stop()
        keys = sent.keys_of(ledger_of_replay)
        found = ledgers.compare(sent, c.store, keys=keys)
        shed, incomplete = sum(ledger["events"]["shed"].values()), sum(s["incomplete"] for s in ledger["spills"])
        findings.none([*found.faults(may_miss=found.missing), *unbalanced(ledger)])
        findings.equal("events not stored − shed − incomplete", len(found.missing) - shed - incomplete, 0)
        findings.equal("events incomplete", incomplete, 0)
        if harness.SANITIZED:
            findings.skip_part("how much memory the daemon takes: a sanitizer's own is beside it")
        else:
            findings.check(most <= planned * 1.05, f"{most / 1e6:.1f} MB resident, {planned / 1e6:.1f} MB planned")
        findings.inject(f"receiver stopped for {stopped:.0f} s", 1)
        findings.inject("events sent", len(keys))
        findings.see("events shed and counted", shed)
        findings.see("events stored", len(found.stored))
        findings.see(f"MB resident at most, of {planned / 1e6:.0f} planned", round(most / 1e6, 1))


def outage(findings, plan):
    """The receiver is away while the input goes on: memory, then disk. When it is back the backlog goes out beside what is fresh. Once as fast
    as these programs can, which says how fast they drain; once over a line of about twice the input, where the backlog lasts as long as
    the outage did, which says that the newest does not wait for it."""
    for line, forward, away in (("the line as fast as it can be", {}, plan.pick(2, min(plan.minutes * 60, LONGEST_OUTAGE))),
                                ("a line of 32 Mb/s", {"rate": "32 Mb/s"}, plan.pick(3, 60))):
        if forward and harness.SANITIZED:
            findings.skip_part("the newest beside a backlog: with a sanitizer too little comes for there to be one")
            continue
        with Chain() as c, findings.named(line):
            _outage(findings, c, plan, forward, away)


def _outage(findings, c, plan, forward, away, rate=1000):
    sent = c.write_events(spills=500, events=5000, seed=plan.seed)
    receiver = c.start_receiver()
    daemon = c.start_daemon(outbox={"memory": "4 MiB", "block": "64 KiB"}, forward=forward)
    relay = c.start_relay(daemon, seed=plan.seed)
    replay = c.replay("relay", rate)
    c.wait_for_growth()
    receiver.kill()
    time.sleep(away)  # the fault is as long as this
    daemon.wait_for(lambda s: s["spool"]["events"] > 0, "events on disk")
    receiver, begun = c.start_receiver(), time.monotonic()
    back = daemon.status()["events"]
    status = daemon.wait_for(lambda s: not s["spool"]["events"] and s["events"]["forwarded"] > back["admitted"], "an empty spool", 600)
    drain = (status["events"]["forwarded"] - back["forwarded"]) / (time.monotonic() - begun) / rate
    ledger_of_replay = c.interrupt_replay(replay)
    c.finish_relay(relay, ledger_of_replay)
    c.drain(daemon)
    ledger = c.stop_daemon(daemon)
    receiver.stop()
    keys = sent.keys_of(ledger_of_replay)
    found = ledgers.compare(sent, c.store, keys=keys)
    findings.none([*found.faults(), *unbalanced(ledger)])
    findings.inject(f"receiver away for {away:.0f} s", 1)
    findings.see("events stored once, bit for bit", len(found.stored))
    findings.see("lost", len(found.missing))
    if not forward:
        if not plan.short:
            findings.check(drain >= DRAIN, f"drained at {drain:.2f} times the input")
        findings.see("times the input is what went out until the disk was empty", round(drain, 2))
        return
    # /status is half a second old at most: events behind these came when the receiver was back.
    fresh, order = set(keys[back["admitted"] + rate:]), ledgers.stored_order(c.store)
    first_fresh = next((i for i, key in enumerate(order) if key in fresh), len(order))
    last_old = max(i for i, key in enumerate(order) if key not in fresh)
    findings.check(first_fresh < last_old, "no fresh event was stored before the whole backlog was")
    findings.see("old events stored behind the first fresh one over a slow line", sum(key not in fresh for key in order[first_fresh:]))


ROWS = [Row("R8", "memory is bounded", "RSS ≤ planned + 5 %; then disk, then counted shedding", receiver_stopped),
        Row("R9", "an outage is ridden out", "0 lost; drain ≥ 1.3 × input; the newest not starved", outage)]
