# SPDX-License-Identifier: Apache-2.0
"""Faults of a running scenario. Each is over when its function returns, and counts itself."""
import contextlib
import random
import signal
import socket
import struct
import threading
import time

import harness
import namespaces
from namespaces import Rules


class Watch(threading.Thread):
    """Looks at something again and again while a fault goes on; `end` gives the most that was seen."""

    def __init__(self, look, every=0.1):
        super().__init__(daemon=True)
        self.most = self.first = look()
        self._look, self._every, self._over = look, every, threading.Event()
        self.start()

    def run(self):
        with contextlib.suppress(FileNotFoundError):  # of a program that has ended
            while not self._over.wait(self._every):
                self.most = max(self.most, self._look())

    def end(self):
        self._over.set()
        self.join()
        return self.most


def wait(run, least, most):
    """A fault is as long as this."""
    time.sleep(run.random.uniform(least, most))


def kill_receiver(run):
    run.kill_receiver()
    wait(run, 0, 0.3)
    run.begin_receiver()


def pause_receiver(run):
    run.receiver.signal(signal.SIGSTOP)
    wait(run, 0.2, 1)
    run.receiver.signal(signal.SIGCONT)
    run.findings.inject("receivers stopped for a while", 1)


def kill_daemon(run):
    run.kill_daemon()
    wait(run, 0, 0.3)
    run.begin_daemon()


def end_daemon(run):
    run.stop_daemon()
    run.begin_daemon()
    run.findings.inject("daemons stopped by SIGTERM", 1)


def while_packets_are(run, at, rule, seconds):
    """How many packets of TCP the rule met; {count it} in it counts them."""
    rules = Rules(run.network, at)
    rules.load(rule, hook="input", priority="0")
    time.sleep(seconds)
    packets = rules.counts()["it"]
    rules.clear()
    return packets


def reset_line(run, seconds=None):
    run.findings.inject("resets of the output link", 1)
    return while_packets_are(run, run.network.receiver, f"tcp dport {run.ports.receiver} {{count it}} reject with tcp reset",
                             seconds or run.random.uniform(0.1, 0.5))


def reset_input(run):
    while_packets_are(run, run.network.daemon, f"tcp dport {run.ports.tcp} {{count it}} reject with tcp reset", run.random.uniform(0.1, 0.5))
    run.findings.inject("resets of the input", 1)


def lose_packets_of_the_line(run):
    """TCP sends them again; nobody above it must notice more than time."""
    while_packets_are(run, run.network.receiver, "meta l4proto tcp numgen random mod 100 < 10 {count it} drop", run.random.uniform(0.2, 1))
    run.findings.inject("spells of 10 % loss on the output link", 1)


def pull_cable(run):
    run.network.pull_cable()
    wait(run, 0.2, 2)
    run.network.pull_cable(False)
    run.findings.inject("cables pulled", 1)


def send_garbage(run, datagrams=300):
    """No crate sends these: too short, of an event number that cannot be, of no fragment."""
    rng = random.Random(datagrams)
    with run.network.on(run.network.sender), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for i in range(datagrams):
            data = (rng.randbytes(rng.randrange(12)), struct.pack(">III", 0xF0000000 | i, 0, 0) + bytes(100),
                    struct.pack(">III", 0, 0, 0) + rng.randbytes(rng.randrange(1, 3000)))[i % 3]
            s.sendto(data, (namespaces.DAEMON, run.ports.udp + i % harness.UDP_PORTS))
            if i % 16 == 0:
                time.sleep(0.001)
    run.garbage += datagrams
    run.findings.inject("datagrams of garbage", datagrams)


WITHOUT_LOSS = [kill_receiver, pause_receiver, reset_line, pull_cable, lose_packets_of_the_line, send_garbage]
BOTH_ENDS_OF_TCP = [*WITHOUT_LOSS, reset_input, kill_daemon, end_daemon]


def at_random(faults, seconds=600):
    """One fault after the other, with a pause between them, until everything is sent."""
    def fault(run):
        run.wait_for_growth()  # replay gives up if no daemon listens at its very first try
        until = time.monotonic() + seconds
        while run.replay.running() and time.monotonic() < until:
            run.random.choice(faults)(run)
            wait(run, 0.2, 1)
    return fault
