# SPDX-License-Identifier: Apache-2.0
"""R11, R15–16, R17 and R20: the daemon is killed, hangs, or gets SIGTERM, or the clock jumps."""
import ctypes
import os
import pathlib
import signal
import struct
import time

import harness
import namespaces
import store_reader
from breaks import wait
from managing import ServiceManager
from preload import CLOCK_SHIFT, LyingMachine
from scenario import Scenario, judged
from table import Row

READY_LIMIT, WATCHDOG, HOUR = 3, 2, 3600  # seconds


def killed_daemons(run):
    """A sender over TCP keeps what was not acknowledged. Every other daemon has a small outbox and a receiver that stands still, and is killed
    when events have overflown to the disk, in blocks of the spool's own lane beside copies of what is in memory."""
    kills = run.plan.pick(6, 100)
    for kill in range(kills):
        run.wait_for_growth()
        if overflow := kill % 2:
            run.receiver.signal(signal.SIGSTOP)
            run.wait_for(lambda s: s["spool"]["spilled"] > 0, "events that overflow to the disk")
        wait(run, 0, 0.2)
        run.kill_daemon()
        wait(run, 0, 0.3)
        run.sections["outbox"] = {"block": "64 KiB"} if overflow else {"block": "64 KiB", "memory": "1 MiB"}
        run.begin_daemon()
        run.receiver.signal(signal.SIGCONT)
    run.wait_for_growth()
    run.findings.inject("of them while its outbox overflowed to the disk", kills // 2)


def killed_with_events_in_memory(run):
    """Over UDP these are lost, and the next start says how many; what is on disk is sent."""
    run.findings.check("did not end properly" not in run.daemon.said(), "a first start speaks of a crash")
    run.wait_for_growth()
    run.kill_receiver()
    run.wait_for(lambda s: s["spool"]["spilled"] > 50 if s["spool"] else s["events"]["in_flight"] > 50, "events that overflow to the disk, or wait in memory")
    run.interrupt_replay()
    before = run.wait_for(lambda s: not s["fragments"]["in_flight"], "all that was sent")
    before = run.wait_for(lambda s: s["uptime"] > before["uptime"] + 1, "that to be noted")
    run.kill_daemon()
    record = struct.unpack("<8s10Q", pathlib.Path(f"{run.daemon.ledger_file}.live").read_bytes())
    magic, session, number, started, noted, admitted, forwarded, rejected, shed, on_disk, ended = record
    run.findings.equal("record of the run", (magic, f"{session:016x}", number, admitted, ended), (b"KL3L\0\0\1\0", before["session"], 7, before["events"]["admitted"], 0))
    run.findings.check(started <= noted <= time.time_ns() and forwarded > 0 and (on_disk > 50) == bool(before["spool"]), f"record of the run: {record}")
    run.in_memory = admitted - forwarded - rejected - shed - on_disk
    run.begin_daemon()
    run.daemon.wait_to_say(f"the last run (session {before['session']}, run 7) did not end properly")
    run.daemon.wait_to_say(f"of {admitted} events admitted, {forwarded} forwarded, {rejected} rejected, {shed} shed, {on_disk} written to disk; "
                           f"up to {run.in_memory} were in memory")
    harness.wait_until(lambda: run.daemon.metrics()["koto_l3_last_run_lost_events"] == run.in_memory, f"{run.in_memory} in the metric")
    run.begin_receiver()
    if on_disk:
        run.wait_for_empty_spool()


def no_more_than_told(run):
    """Of what was told to be in memory some may have been stored, and its acknowledgement was lost with the receiver."""
    lost = len(run.found.missing)
    run.findings.see("lost over UDP, and told to have been in memory", lost)
    run.findings.check(lost <= run.in_memory + 1, f"{lost} events are missing, and {run.in_memory} were told")  # the last one was interrupted
    run.findings.check(lost > 0 or "spool" not in run.sections, "nothing was lost: this proves little")


# R15–16

class OneThread:
    """Stops one thread of a program, as a lock that never opens would."""
    _SEIZE, _INTERRUPT, _DETACH, _WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, thread):
        self._thread, self._libc = thread, ctypes.CDLL(None, use_errno=True)

    def _trace(self, request):
        if self._libc.ptrace(request, self._thread, None, None) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"ptrace: {os.strerror(number)}")

    def __enter__(self):
        self._trace(self._SEIZE)
        self._trace(self._INTERRUPT)
        os.waitpid(self._thread, self._WALL)  # until it stands

    def __exit__(self, *_):
        self._trace(self._DETACH)


def threads(pid):
    """{name: thread id}"""
    return {(task / "comm").read_text().strip(): int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def have_manager(run):
    run.manager, run.begun = ServiceManager(run.folder), time.monotonic()
    run.sections["environment"] = run.manager.environment


def stuck_threads(run):
    """The socket of the service manager is ours: ready in time, kept alive, and no longer when one thread stands still under load."""
    manager = run.manager
    manager.wait_for("READY=1", "READY=1")
    run.findings.time("ready", time.monotonic() - run.begun, READY_LIMIT)
    run.wait_for_growth()
    until = time.monotonic() + 2 * WATCHDOG
    run.findings.check(manager.silence(lambda: time.monotonic() < until) <= WATCHDOG, "no keep-alives from a daemon that works")
    for name in run.plan.pick(("drain",), ("compute", "drain", "forwarder", "udp", "tcp")):
        until = time.monotonic() + 15 * WATCHDOG
        with OneThread(threads(run.daemon.pid)[name]):
            silence = manager.silence(lambda: time.monotonic() < until, WATCHDOG)
            run.findings.check(silence > WATCHDOG, f"keep-alives go on while the thread {name} stands still")
        manager.wait_for("WATCHDOG=1", "keep-alives after the thread goes on")
        run.findings.inject("threads stopped one by one", 1)
        run.findings.see("watchdogs that would have bitten", 1)


# R17

def slow_line(run):
    run.network.run("tc", "qdisc", "add", "dev", namespaces.TO_RECEIVER, "root", "tbf", "rate", "16mbit", "burst", "64k", "latency", "200ms")


def told_to_stop(run):
    run.wait_for(lambda s: s["events"]["admitted"] > run.plan.pick(3000, 20_000), "load")
    begun, how = time.monotonic(), run.scenario
    run.first = run.stop_daemon(how.exit_code)
    run.findings.time(f"exit, {how.name}", time.monotonic() - begun, 10)
    run.findings.inject("SIGTERM under load", 1)
    run.interrupt_replay()
    run.relay.kill()
    if given_up := run.first["events"]["shed"]["drain"]:  # no scrape of the process that lost them has seen it
        run.begin_daemon()
        run.wait_for(lambda s: "lost_at_run_end" in s["state"]["degraded"], "the next daemon to tell of them")
        run.findings.equal("events that it tells of", run.daemon.metrics()['koto_l3_ended_run_lost_events{reason="drain"}'], given_up)
        run.stop_daemon()
    if not run.receiver:
        run.begin_receiver()
    if on_disk := run.first.get("spool", {}).get("waiting"):  # it is the next daemon's to send
        run.findings.see("left on disk, and sent by the next daemon", on_disk)
        run.begin_daemon()
        run.findings.check("did not end properly" not in run.daemon.said(), "a start after a clean end speaks of a crash")
        run.wait_for_empty_spool()
        run.stop_daemon()


def admitted_are_stored(run):
    given_up = run.first["events"]["shed"]["drain"]
    run.findings.equal("admitted − given up − stored", run.first["events"]["admitted"] - given_up - len(run.found.stored), 0)
    run.findings.see("events given up and counted", given_up)
    run.findings.equal("exit code says that events were given up", bool(given_up), bool(run.scenario.exit_code))


# R20

def shifted_clocks(run):
    run.machine = LyingMachine(run)
    run.receiver_environment = run.sections["environment"] = run.machine.environment


def spurious(run):
    link, said = run.daemon.status()["receiver"], run.daemon.said()
    return {what: link[what] for what in ("blocks_resent", "reconnects", "refusals")} | {what: said.count(what) for what in ("warning", "error")}


def clock_jumps(run):
    run.wait_for_growth()
    before = spurious(run)
    for _ in range(run.plan.pick(1, 10)):
        for hours in (1, -1, 0):
            run.machine.set(CLOCK_SHIFT, hours * HOUR)
            run.findings.inject("jumps of the clock by 1 or 2 h", 1)
            time.sleep(1.7)  # longer than an event's time limit and a spill's, so that one that is wrong shows
            run.wait_for_growth()
    after = spurious(run)
    run.findings.equal("resent, reconnected, refused, complaints", after, before)
    run.findings.see("spurious timeouts", sum(after.values()) - sum(before.values()))


def blocks_have_shifted_times(run):
    run.findings.equal("events incomplete", run.incomplete, 0)
    sealed = [block.sealed / 1e9 - time.time() for block in store_reader.read_store(run.store, read=store_reader.packed)]
    run.findings.check(max(sealed) > HOUR / 2 and min(sealed) < -HOUR / 2, "no block has a time of a shifted clock: this proves nothing")


def stops(plan):
    stop = {"fault": told_to_stop, "rate": 4000, "lost": judged, "judge": admitted_are_stored}
    no_disk = {"spool": {"folder": ""}, "run": {"drain_time_limit": "1 s"}}
    return [Scenario("receiver up", **stop), Scenario("receiver slow", prepare=slow_line, **stop), Scenario("receiver gone", receiver=None, **stop),
            Scenario("receiver gone, no disk", receiver=None, daemon=no_disk, exit_code=1, **stop)]


ROWS = [Row("R11", "kill −9 of the daemon loses nothing over TCP, over UDP what was in memory", "0 lost over TCP, 0 doubled in the store", lambda plan: [
            Scenario("over TCP", over="tcp", rate=1500, replay=("--window", 4), fault=killed_daemons, daemon={"outbox": {"block": "64 KiB"}}),
            *(Scenario(f"over UDP, {name}", fault=killed_with_events_in_memory, lost=judged, judge=no_more_than_told, daemon=sections) for name, sections in (
                ("a disk", {"outbox": {"memory": "1 MiB", "block": "16 KiB"}}), ("no disk", {"spool": {"folder": ""}})))]),
        Row("R15–16", "stuck daemon", "ready ≤ 3 s; the watchdog bites", lambda plan: [
            Scenario(over="tcp", rate=1500, prepare=have_manager, fault=stuck_threads)]),
        Row("R17", "graceful stop", "exit 0, ≤ 10 s; 0 lost", stops),
        Row("R20", "clock jumps: steady clock everywhere", "0 spurious timeouts", lambda plan: [
            Scenario(events=2000, prepare=shifted_clocks, fault=clock_jumps, judge=blocks_have_shifted_times)])]
