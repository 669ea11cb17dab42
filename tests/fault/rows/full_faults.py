# SPDX-License-Identifier: Apache-2.0
"""R8 and R10: nobody takes the data, and there is no room for more."""
import errno
import threading
import time

import harness
import ledgers
import own_space
from chain import Chain, unbalanced
from table import Row

# The outbox is the part that fills; frames make the plan large beside what the program itself needs.
SMALL_OUTBOX = {"outbox": {"memory": "4 MiB", "block": "64 KiB"}, "frames": {"count": 16, "events": 256}}


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
    """At full input: memory stays what was planned, and what there is no room for is shed as whole events, and counted."""
    with Chain() as c:
        sent = c.write_events(spills=180, events=5000, seed=plan.seed)
        receiver, daemon = c.start_receiver(), c.start_daemon(**SMALL_OUTBOX)
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", plan.pick(4000, 1400))
        c.wait_for_growth()
        memory = MostMemory(daemon)
        receiver.signal(harness.signal.SIGSTOP)
        begun, seconds = time.monotonic(), plan.pick(3, plan.minutes * 60)
        daemon.wait_for(lambda s: sum(s["events"]["shed"].values()) > 1000, "shedding")
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        stopped = time.monotonic() - begun
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
        findings.check(most <= planned * 1.05, f"{most / 1e6:.1f} MB resident, {planned / 1e6:.1f} MB planned")
        findings.inject(f"receiver stopped for {stopped:.0f} s", 1)
        findings.inject("events sent", len(keys))
        findings.see("events shed and counted", shed)
        findings.see("events stored", len(found.stored))
        findings.see(f"MB resident at most, of {planned / 1e6:.0f} planned", round(most / 1e6, 1))


def fill(path):
    """All that is free, whoever else writes meanwhile."""
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise


def disk_full(findings, plan):
    """The store is on a disk of 8 MB that something else fills: nothing is acknowledged that is not stored."""
    with Chain() as c:
        disk = c.folder / "disk"
        disk.mkdir()
        own_space.mount_small_disk(disk, 8 << 20)
        try:
            _fill_again_and_again(findings, c, plan, disk)
        finally:
            c.stop_programs()
            own_space.unmount(disk)


def _fill_again_and_again(findings, c, plan, disk):
    c.store, times = disk / "store", 3
    sent = c.write_events(spills=1, events=4000, seed=plan.seed)
    receiver = c.start_receiver()
    daemon = c.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "300 ms"})
    replay = c.replay("tcp", 1000, "--window", 1)
    c.wait_for_growth()
    for _ in range(times):
        complaints = receiver.said().count("No space left")
        fill(disk / "other")
        harness.wait_until(lambda: receiver.said().count("No space left") > complaints, "a full disk")
        (disk / "other").unlink()
        findings.time("flowing after it", c.wait_for_growth(), 2)
    c.finish_replay(replay, 600)
    c.drain(daemon)
    ledger = c.stop_daemon(daemon)
    findings.equal("the receiver's exit code", receiver.stop(), 0)
    found = ledgers.compare(sent, c.store)
    findings.none([*found.faults(), *unbalanced(ledger)])
    findings.inject("times that the store's disk was full", times)
    findings.see("events stored once, bit for bit", len(found.stored))
    findings.see("crashes", 0)


ROWS = [Row("R8", "memory is bounded", "RSS ≤ planned + 5 %; then counted shedding", receiver_stopped),
        Row("R10", "a full disk is a state", "0 crashes; stops, sheds, recovers", disk_full)]
