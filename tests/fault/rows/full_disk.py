# SPDX-License-Identifier: Apache-2.0
"""R10: a disk takes no more, or says that it could not keep what it had taken. Nothing is acknowledged that is not stored, and everything goes
on when there is room. No program may end: a row that says "0 crashes" has asked each of them."""
import contextlib
import errno
import time

import harness
import ledgers
import own_space
import preload
from chain import Chain, Skipped, unbalanced
from table import Row

FULL = "the spool takes nothing now: no room"  # says the daemon
RATE = 1000  # events a second
ORDERS, FLUSH_ERROR, FLUSHES_FAILED, MORE_FREE = 3, 0, 1, 2  # of lying_disk.cpp


@contextlib.contextmanager
def small_disk(c, mebibytes):
    """A folder on a file system of its own, gone before the chain is."""
    disk = c.folder / "disk"
    disk.mkdir()
    own_space.mount_small_disk(disk, mebibytes << 20)
    try:
        yield disk
    finally:
        c.stop_programs()
        own_space.unmount(disk)


def fill(path):
    """All that is free, whoever else writes meanwhile."""
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise


def full_and_failing_disks(findings, plan):
    for name, part in (("the store's disk", _store), ("the store's disk, --sync", lambda *of: _store(*of, "--sync")),
                       ("the spool's disk", _spool), ("a disk that cannot flush", _flush)):
        with Chain() as c, findings.named(name):
            try:
                part(findings, c, plan)
            except Skipped as e:
                findings.skip_part(f"{name}: {e}")


def _crashes(findings, *programs):
    """Of programs that must be running; those are asked before they are told to stop."""
    gone = [f"{p.name()} ended with {p.process.returncode}: {p.said()[-500:]}" for p in programs if not p.running()]
    findings.none(gone)
    return len(gone)


def _end(findings, daemon, receiver):
    """The daemon's ledger; whoever ended before, or does not end with 0, has crashed."""
    crashes = _crashes(findings, daemon, receiver)
    codes = daemon.stop(), receiver.stop()
    for who, code in zip(("daemon", "receiver"), codes):
        findings.equal(f"exit code of the {who}", code, 0)
    findings.see("crashes", max(crashes, sum(code != 0 for code in codes)))
    return daemon.ledger()


def _store(findings, c, plan, *more):
    """It is on a disk of 8 MB that something else fills. A sender over TCP: nothing of it may be lost."""
    with small_disk(c, 8) as disk:
        c.store, times = disk / "store", plan.pick(1, 10)
        # As many events as the disk holds: the file that fills it is small when it is nearly over.
        sent = c.write_events(spills=1, events=plan.pick(2000, 4000), seed=plan.seed)
        receiver = c.start_receiver(*more)
        daemon = c.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "300 ms"})
        replay = c.replay("tcp", plan.pick(RATE, RATE // 5), "--window", 1)
        c.wait_for_growth()
        for _ in range(times):
            complaints = receiver.said().count("No space left")
            fill(disk / "other")
            harness.wait_until(lambda: receiver.said().count("No space left") > complaints, "a full disk")
            (disk / "other").unlink()
            findings.time("flowing after it", c.wait_for_growth(), 2)
        c.finish_replay(replay, 600)
        c.drain(daemon)
        ledger = _end(findings, daemon, receiver)
        found = ledgers.compare(sent, c.store)
        findings.none([*found.faults(), *unbalanced(ledger)])
        findings.inject(f"times that the store's disk was full{', with --sync' if more else ''}", times)
        findings.see("events stored once, bit for bit", len(found.stored))


def _spool(findings, c, plan):
    """The receiver is away. The spool has no floor, may grow beyond its disk, and believes that there is room: writes themselves fail, in the
    middle of a block. What neither disk nor memory has room for is shed and counted, and when the receiver is back all else comes."""
    made, orders = preload.library(c, "lying_disk"), preload.Numbers(c.folder / "orders", ORDERS)
    orders.set(MORE_FREE, 1 << 30)
    with small_disk(c, plan.pick(4, 16)) as disk:
        spool = {"folder": str(disk / "spool"), "size": "64 MiB", "segment": "1 MiB", "floor": "0 B"}
        sent = c.write_events(spills=400, events=2500, seed=plan.seed)
        receiver = c.start_receiver()
        with preload.preloaded(made, KOTO_L3_LYING_DISK=orders.path):
            daemon = c.start_daemon(outbox={"memory": "1 MiB", "block": "64 KiB"}, frames={"count": 4, "events": 64}, spool=spool)
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", 2 * RATE)
        crashes = 0
        for _ in range(plan.pick(1, 3)):
            c.wait_for_growth()
            before = daemon.status()
            complaints = daemon.said().count(FULL)
            receiver.kill()
            daemon.wait_for(lambda s: sum(s["events"]["shed"].values()) > sum(before["events"]["shed"].values()) + 500 and
                            s["spool"]["write_errors"] > before["spool"]["write_errors"], "writes that fail, and shedding")
            harness.wait_until(lambda: daemon.said().count(FULL) > complaints, "the daemon to say that there is no room")
            crashes += _crashes(findings, daemon)
            receiver, begun = c.start_receiver(), time.monotonic()
            c.wait_for_growth()
            findings.time("flowing after it", time.monotonic() - begun, 2)
            harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
            findings.inject("times that the spool's disk was full", 1)
        findings.see("writes of the spool that failed", daemon.status()["spool"]["write_errors"])
        c.wait_for_growth()
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        c.drain(daemon)
        ledger = _end(findings, daemon, receiver)
        keys = sent.keys_of(ledger_of_replay)
        found = ledgers.compare(sent, c.store, keys=keys)
        shed, incomplete = sum(ledger["events"]["shed"].values()), sum(s["incomplete"] for s in ledger["spills"])
        findings.none([*found.faults(may_miss=found.missing), *unbalanced(ledger)])
        findings.equal("events not stored − shed − incomplete", len(found.missing) - shed - incomplete, 0)
        findings.equal("blocks that the spool lost", ledger["events"]["shed"]["spool"], 0)
        findings.see("crashes", crashes)
        findings.see("events shed and counted", shed)
        findings.see("events stored once, bit for bit", len(found.stored))


def _flush(findings, c, plan):
    """Both disks are asked to make each block durable, and say for a while that they could not. Those blocks were never there: the sender
    over TCP must find each event in the store, once."""
    made, orders = preload.library(c, "lying_disk"), preload.Numbers(c.folder / "orders", ORDERS)
    sent = c.write_events(spills=400, events=2500, seed=plan.seed)
    with preload.preloaded(made, KOTO_L3_LYING_DISK=orders.path):
        receiver = c.start_receiver("--sync")
        daemon = c.start_daemon(outbox={"block": "32 KiB"}, spool={"use": "always", "sync": "on"}, forward={"acknowledge_time_limit": "300 ms"})
    replay = c.replay("tcp", RATE, "--window", 4)
    for _ in range(plan.pick(2, 10)):
        c.wait_for_growth()
        complaints, errors = receiver.said().count("cannot be written"), daemon.status()["spool"]["write_errors"]
        orders.set(FLUSH_ERROR, errno.EIO)
        harness.wait_until(lambda: receiver.said().count("cannot be written") > complaints, "the receiver to be told")
        daemon.wait_for(lambda s: s["spool"]["write_errors"] > errors, "the spool to be told")
        orders.set(FLUSH_ERROR, 0)
        findings.time("flowing after a flush that failed", c.wait_for_growth(), 3)
        findings.inject("times that no flush succeeded", 1)
    ledger_of_replay = c.interrupt_replay(replay)
    c.drain(daemon)
    ledger = _end(findings, daemon, receiver)
    keys = sent.keys_of(ledger_of_replay)
    found = ledgers.compare(sent, c.store, keys=keys)
    acknowledged = set(keys[:ledger_of_replay["events"]["forwarded"]])
    findings.none([*found.faults(may_miss=set(keys) - acknowledged), *unbalanced(ledger)])
    findings.inject("flushes that failed", orders.get(FLUSHES_FAILED))
    findings.see("events stored once, bit for bit", len(found.stored))


ROWS = [Row("R10", "a full disk is a state", "0 crashes; stops, sheds, recovers", full_and_failing_disks)]
