# SPDX-License-Identifier: Apache-2.0
"""R8 and R10: memory, or a disk, takes no more, or a disk says that it could not keep what it had taken. Nothing is acknowledged that is not
stored, events are shed and counted, and everything goes on when there is room. No program may end meanwhile."""
import errno
import os
import signal
import time

import harness
import own_space
from breaks import Watch
from preload import FLUSH_ERROR, FLUSHES_FAILED, POOR, LyingMachine
from scenario import Scenario, counted
from table import Row

DISK, FLOOR = 24, 8  # MiB
LONGEST_OUTAGE = 1500  # seconds: then the numbers of spills come again
RATE = 1000  # events a second


def small_disk(mebibytes, **spool):
    """Prepares a file system of its own, gone after the programs, for the spool if it has settings, else for the store."""
    def prepare(run):
        run.disk = run.folder / "disk"
        run.disk.mkdir()
        own_space.mount_small_disk(run.disk, mebibytes << 20)
        run.ending.callback(own_space.unmount, run.disk)
        if spool:
            run.sections["spool"] = {"folder": str(run.disk / "spool"), "size": "64 MiB", **spool}
        else:
            run.store = run.disk / "store"
    return prepare


def fill(path):
    """All that is free, whoever else writes meanwhile."""
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise


def receiver_stopped(run):
    """At full input: memory stays what was planned, then a small disk is filled down to its floor, if there is one, and events that find no
    room are shed as a whole, and counted."""
    run.wait_for_growth()
    run.memory, run.planned = Watch(run.daemon.memory), run.daemon.status()["memory_planned"]
    run.receiver.signal(signal.SIGSTOP)
    begun, seconds = time.monotonic(), run.plan.pick(3, min(run.plan.minutes * 60, LONGEST_OUTAGE))
    run.wait_for(lambda s: sum(s["events"]["shed"].values()) > 1000, "shedding")
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    run.findings.inject(f"receiver stopped for {time.monotonic() - begun:.0f} s", 1)
    if run.sections["spool"]["folder"]:
        free = os.statvfs(run.disk).f_bavail * os.statvfs(run.disk).f_frsize / (1 << 20)
        run.findings.check(free >= FLOOR, f"{free:.1f} MiB are free on the spool's disk, of which {FLOOR} were to be left alone")
        run.findings.see("MiB on disk", DISK - round(free))
    run.receiver.signal(signal.SIGCONT)
    run.findings.time("flowing after it", run.wait_for_growth(), 2)


def some_were_shed(run):
    run.findings.check(run.shed > 0, "nothing was shed: this proves less than it says")
    run.findings.equal("events incomplete", run.incomplete, 0)
    run.findings.see("events shed and counted", run.shed)
    most = run.memory.end()
    if harness.SANITIZED:
        run.findings.skip_part("how much memory the daemon takes: a sanitizer's own is beside it")
        return
    run.findings.check(most <= run.planned * 1.05, f"{most / 1e6:.1f} MB resident, {run.planned / 1e6:.1f} MB planned")
    run.findings.see(f"MB resident at most, of {run.planned / 1e6:.0f} planned", round(most / 1e6, 1))


# R10

def wait_for_the_store_to_fail(run, fails):
    run.wait_for(lambda s: ("receiver_refuses" in s["state"]["degraded"]) == fails, "the store to fail" if fails else "the store to work")


def full_stores(run):
    run.wait_for_growth()
    for n in range(run.plan.pick(2, 10)):
        fill(run.disk / "other")
        wait_for_the_store_to_fail(run, True)
        if n % 2:
            run.kill_receiver()
        (run.disk / "other").unlink()
        if n % 2:
            run.begin_receiver()
        run.findings.inject("times that the store's disk was full", 1)
        run.findings.time("flowing after it", run.wait_for_growth(), 2)
        wait_for_the_store_to_fail(run, False)


def flushes_fail(run):
    """Both disks are asked to make each block durable, and say for a while that they could not. The sender must find each event in the
    store, once."""
    for _ in range(run.plan.pick(2, 10)):
        run.wait_for_growth()
        errors = run.daemon.status()["spool"]["write_errors"]
        run.machine.set(FLUSH_ERROR, errno.EIO)
        wait_for_the_store_to_fail(run, True)
        run.wait_for(lambda s: s["spool"]["write_errors"] > errors, "the spool to be told")
        run.machine.set(FLUSH_ERROR, 0)
        run.findings.time("flowing after a flush that failed", run.wait_for_growth(), 3)
        wait_for_the_store_to_fail(run, False)
        run.findings.inject("times that no flush succeeded", 1)
    run.findings.inject("flushes that failed", run.machine.get(FLUSHES_FAILED))


def disks_forget(run):
    """Both disks take blocks and say later that they did not keep them. Whoever acknowledged such a block says so, acknowledges no other until
    the disk keeps it, and does not end well."""
    run.wait_for_growth()
    run.machine.set(FLUSH_ERROR, errno.EIO)
    run.receiver.wait_to_say("the disk did not keep what was written (Input/output error): acknowledged blocks may be lost")
    run.daemon.wait_to_say("the disk did not keep blocks of the spool: Input/output error")
    run.wait_for(lambda s: {"receiver_refuses", "spool_fails"} <= set(s["state"]["degraded"]), "a receiver that refuses, and the spool's state")
    run.machine.set(FLUSH_ERROR, 0)
    run.findings.time("flowing after it", run.wait_for_growth(), 3)
    run.findings.inject("times that a disk lost what it had taken", 1)
    run.interrupt_replay()
    run.drain(run.daemon)
    run.findings.equal("exit code of the receiver", run.receiver.stop(), 1)
    run.findings.check(not harness.json.loads((run.store / "ledger.json").read_text())["clean"], "the receiver's ledger is clean")
    run.begin_receiver()


def lying_disks(run):
    run.machine = LyingMachine(run)
    run.receiver_environment = run.sections["environment"] = run.machine.environment


def poor_file_systems(run):
    lying_disks(run)
    run.machine.set(POOR, 1)


def complete_files(run):
    names = sorted(f.name for f in run.store.glob("blocks-*.kl3"))
    run.findings.check(names and all("-run" in n for n in names), f"files without their complete name: {names}")
    run.findings.none([line for line in run.receiver.said().splitlines() + run.daemon.said().splitlines() if "cannot" in line or "flush" in line])


def full_spool(run):
    """The receiver is away. The spool has no floor and may grow beyond its disk: writes themselves fail."""
    run.wait_for_growth()
    run.kill_receiver()
    run.wait_for(lambda s: s["spool"]["write_errors"] > 0 and sum(s["events"]["shed"].values()) > 500, "writes that fail, and shedding")
    run.begin_receiver()
    run.findings.time("flowing after it", run.wait_for_growth(), 2)
    run.wait_for_empty_spool()
    run.findings.inject("times that the spool's disk was full", 1)


def no_block_was_lost(run):
    run.findings.equal("blocks that the spool lost", run.ledger["events"]["shed"]["spool"], 0)
    run.findings.see("events shed and counted", run.shed)


def memory(plan):
    little = {"outbox": {"memory": "4 MiB", "block": "64 KiB"}, "frames": {"count": 16, "events": 256}}  # the plan is large beside the program
    load = {"events": 5000, "fault": receiver_stopped, "lost": counted, "judge": some_were_shed}
    yield Scenario("a disk", prepare=small_disk(DISK, segment="4 MiB", floor=f"{FLOOR} MiB"), daemon=little, rate=plan.pick(4000, 1400), **load)
    yield Scenario("no disk", daemon=little | {"spool": {"folder": ""}}, rate=2000, **load)


def disks(plan):
    soon = {"acknowledge_time_limit": "300 ms"}
    # As many events as the disk holds: the file that fills it is small when it is nearly over.
    yield Scenario("the store's disk", prepare=small_disk(8), fault=full_stores, over="tcp", spills=1, events=plan.pick(2000, 4000),
                   rate=plan.pick(RATE, RATE // 5), to_the_end=True, replay=("--window", 1), receiver=("--sync",),
                   daemon={"outbox": {"block": "32 KiB"}, "forward": soon})
    yield Scenario("a disk that cannot flush", prepare=lying_disks, fault=flushes_fail, over="tcp", rate=RATE, replay=("--window", 4),
                   receiver=("--sync",), daemon={"outbox": {"block": "32 KiB"}, "spool": {"use": "always", "sync": "on"}, "forward": soon})
    yield Scenario("disks that do not keep what they took", prepare=lying_disks, fault=disks_forget, over="tcp", rate=RATE,
                   replay=("--window", 4), daemon={"outbox": {"block": "32 KiB"}, "spool": {"use": "always"}, "forward": soon})
    yield Scenario("file systems without locks and flushes of folders", prepare=poor_file_systems, judge=complete_files, over="tcp",
                   rate=100_000, spills=1, events=2000, to_the_end=True, receiver=("--sync",), daemon={"spool": {"use": "always", "sync": "on"}})
    yield Scenario("the spool's disk", prepare=small_disk(plan.pick(4, 16), segment="1 MiB", floor="0 B"), fault=full_spool, rate=2 * RATE,
                   daemon={"outbox": {"memory": "1 MiB", "block": "64 KiB"}, "frames": {"count": 4, "events": 64}}, lost=counted, judge=no_block_was_lost)


ROWS = [Row("R8", "memory is bounded", "RSS ≤ planned + 5 %; then disk, then counted shedding", memory),
        Row("R10", "a full disk is a state", "0 crashes; stops, sheds, recovers", disks)]
