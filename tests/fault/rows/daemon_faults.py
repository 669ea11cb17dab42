# SPDX-License-Identifier: Apache-2.0
"""R11, R15–16 and R17: the daemon is killed, gets stuck, and is told to stop."""
import ctypes
import os
import pathlib
import random
import signal
import socket
import time

import harness
import ledgers
import namespaces
from breaks import Breaker
from chain import Chain, Skipped, unbalanced
from rows import service
from table import Row

READY_LIMIT, WATCHDOG = 3, 2  # seconds


def daemon_killed(findings, plan):
    """A sender over TCP keeps what was not acknowledged: whatever the daemon's death costs, it sends again, and what it was told to be
    safe is stored. Every other daemon has a small outbox and a receiver that stands still, and is killed when events have overflown to the
    disk, in blocks of the spool's own lane beside copies of what is in memory. In the end the sender is interrupted: what it was not told
    yet may be stored or not."""
    kills, sections = plan.pick(6, 100), {"outbox": {"block": "64 KiB"}}
    small = {"outbox": {"block": "64 KiB", "memory": "1 MiB"}}
    with Chain() as c:
        sent = c.write_events(spills=400, events=2500, seed=plan.seed)
        breaker = Breaker(c, c.start_receiver(), c.start_daemon(**sections), random.Random(plan.seed), **sections)
        replay = c.replay("tcp", 1500, "--window", 4)
        for kill in range(kills):
            c.wait_for_growth()
            if overflow := kill % 2:
                breaker.receiver.signal(signal.SIGSTOP)
                breaker.daemon.wait_for(lambda s: s["spool"]["spilled"] > 0, "events that overflow to the disk")
            breaker.wait(0, 0.2)
            breaker.sections = sections if overflow else small
            breaker.kill_daemon()
            breaker.receiver.signal(signal.SIGCONT)
        c.wait_for_growth()
        ledger_of_replay = c.interrupt_replay(replay)
        c.drain_if_any(breaker.daemon)
        ledger = c.stop_daemon(breaker.daemon)
        breaker.receiver.stop()
        keys = sent.keys_of(ledger_of_replay)
        acknowledged = set(keys[:ledger_of_replay["events"]["forwarded"]])
        found = ledgers.compare(sent, c.store, keys=keys)
        findings.none([*found.faults(may_miss=set(keys) - acknowledged), *unbalanced(ledger)])
        findings.equal("events stored once more by the next session", len(found.repeated), 0)
        findings.inject("kills −9 of the daemon", kills)
        findings.inject("of them while its outbox overflowed to the disk", kills // 2)
        findings.see("events that overflowed", breaker.spilled)
        findings.see("events acknowledged", len(acknowledged))
        findings.see("of them lost", len(acknowledged - found.stored))
        findings.see("events stored twice", len(found.repeated) + len(found.doubled))


class OneThread:
    """Stops one thread of a program, as a lock that never opens would."""
    _SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17

    def __init__(self, thread):
        self._thread, self._libc = thread, ctypes.CDLL(None, use_errno=True)

    def _trace(self, request):
        if self._libc.ptrace(request, self._thread, None, None) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"ptrace: {os.strerror(number)}")

    def __enter__(self):
        self._trace(self._SEIZE)
        self._trace(self._INTERRUPT)
        os.waitpid(self._thread, 0x40000000)  # __WALL: until it stands
        return self

    def __exit__(self, *_):
        self._trace(self._DETACH)


def threads(pid):
    """{name: [thread id]}"""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found.setdefault((task / "comm").read_text().strip(), []).append(int(task.name))
    return found


class Manager:
    """The service manager's end of its notify socket."""

    def __init__(self, folder):
        self.path = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))

    def next(self, seconds):
        """What it is told within so long, or nothing."""
        self._socket.settimeout(max(0.001, seconds))
        try:
            return self._socket.recv(4096).decode().split("\n")
        except TimeoutError:
            return []

    def silence(self, seconds):
        """Whether keep-alives stop, for the length of a watchdog's patience, within so long."""
        until, last = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < until:
            if "WATCHDOG=1" in self.next(0.1):
                last = time.monotonic()
            if time.monotonic() - last > WATCHDOG:
                return True
        return False


def stuck(findings, plan):
    """The socket of the service manager is ours: ready in time, kept alive, and no longer when one thread stands still under load."""
    with Chain() as c:
        c.write_events(spills=400, events=2500, seed=plan.seed)
        receiver, manager = c.start_receiver(), Manager(c.folder)
        os.environ.update(NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC=str(WATCHDOG * 1_000_000))
        try:
            begun = time.monotonic()
            daemon = c.keep(harness.Daemon(c.write_config(), c.ports, c.folder))
        finally:
            for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
                os.environ.pop(name)
        until = begun + harness.PATIENCE
        while "READY=1" not in manager.next(1):
            findings.check(time.monotonic() < until, "READY=1 does not come")
        findings.time("ready", time.monotonic() - begun, READY_LIMIT)
        daemon.ready()
        replay = c.replay("tcp", 1500)
        c.wait_for_growth()
        findings.check(not manager.silence(2 * WATCHDOG), "no keep-alives from a daemon that works")
        for name in plan.pick(("drain",), ("compute", "drain", "forwarder", "udp", "tcp")):
            (thread, *_) = threads(daemon.pid).get(name, [None])
            findings.check(thread is not None, f"no thread is named {name}: {sorted(threads(daemon.pid))}")
            if thread is None:
                continue
            with OneThread(thread):
                findings.check(manager.silence(15 * WATCHDOG), f"keep-alives go on while the thread {name} stands still")
            harness.wait_until(lambda: "WATCHDOG=1" in manager.next(1), "keep-alives after the thread goes on")
            findings.inject("threads stopped one by one", 1)
            findings.see("watchdogs that would have bitten", 1)
        c.interrupt_replay(replay)
        c.stop_daemon(daemon)
        receiver.stop()
    if plan.short:
        findings.skip_part("the restart storm under a booted service manager: the long form has it")
        return
    with Chain() as c:
        try:
            service.restart_storm(findings, c)
        except Skipped as e:
            findings.skip_part(str(e))


def told_to_stop(findings, plan):
    """SIGTERM at full load."""
    def receiver_up(c):
        return c.start_receiver()

    def receiver_slow(c):
        c.network.run("tc", "qdisc", "add", "dev", namespaces.TO_RECEIVER, "root", "tbf", "rate", "16mbit", "burst", "64k", "latency", "200ms")
        return c.start_receiver()

    for what, begin in (("up", receiver_up), ("slow", receiver_slow), ("gone", lambda c: None)):
        with Chain() as c:
            sent = c.write_events(spills=400, events=2500, seed=plan.seed)
            receiver = begin(c)
            daemon = c.start_daemon()
            relay = c.start_relay(daemon, seed=plan.seed)
            replay = c.replay("relay", 4000)
            daemon.wait_for(lambda s: s["events"]["admitted"] > plan.pick(3000, 20_000), "load")
            begun = time.monotonic()
            ledger = c.stop_daemon(daemon)
            findings.time(f"exit 0, receiver {what}", time.monotonic() - begun, 10)
            keys = sent.keys_of(c.interrupt_replay(replay))
            relay.kill()
            if on_disk := ledger["spool"]["waiting"]:  # it is the next daemon's to send
                findings.see("left on disk, and sent by the next daemon", on_disk)
                receiver, daemon = receiver or c.start_receiver(), c.start_daemon()
                harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
                findings.none(f"{what}, next daemon: {t}" for t in unbalanced(c.stop_daemon(daemon)))
            receiver.stop()
            found = ledgers.compare(sent, c.store, keys=keys)
            findings.none(f"{what}: {t}" for t in [*found.faults(may_miss=found.missing), *unbalanced(ledger)])
            lost = ledger["events"]["admitted"] - len(found.stored)
            findings.equal(f"{what}: events admitted − stored", lost, 0)
            findings.inject("SIGTERM under load", 1)
            findings.see("events admitted", ledger["events"]["admitted"])
            findings.see("lost", lost)


ROWS = [Row("R11", "kill −9 of the daemon loses nothing of a sender over TCP", "0 lost, 0 doubled in the store", daemon_killed),
        Row("R15–16", "stuck daemon, restart storm", "ready ≤ 3 s; the watchdog bites; stops after 5", stuck),
        Row("R17", "graceful stop", "exit 0, ≤ 10 s; 0 lost", told_to_stop)]
