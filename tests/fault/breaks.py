# SPDX-License-Identifier: Apache-2.0
"""Faults that end by themselves: each is over when its function returns, and says what it was. The chain's programs are asked for by
name, as some of these put another in place of one."""
import signal
import socket
import struct
import time

import harness
import namespaces
from faults import Rules


class Breaker:
    """Holds the programs that the faults are done to."""

    def __init__(self, chain, receiver, daemon, rng, **sections):
        self.chain, self.receiver, self.daemon, self.random, self.sections = chain, receiver, daemon, rng, sections
        self.done = {}
        self.garbage = 0        # datagrams
        self.device_faults = self.spilled = 0  # seen by all daemons

    def look(self):
        """Before a daemon goes: what it has counted goes with it."""
        status = self.daemon.status()
        self.device_faults += status["engine_failures"]
        self.spilled += status["spool"]["spilled"]

    def one_of(self, faults):
        what = self.random.choice(faults)(self)
        self.done[what] = self.done.get(what, 0) + 1

    def wait(self, least, most):
        """The fault is as long as this."""
        time.sleep(self.random.uniform(least, most))

    def kill_receiver(self):
        self.receiver.kill()
        self.wait(0, 0.3)
        self.receiver = self.chain.start_receiver()
        return "receivers killed"

    def stop_receiver(self):
        self.receiver.signal(signal.SIGSTOP)
        self.wait(0.2, 1)
        self.receiver.signal(signal.SIGCONT)
        return "receivers stopped for a while"

    def kill_daemon(self):
        self.look()
        self.daemon.kill()
        self.wait(0, 0.3)
        self.daemon = self.chain.start_daemon(**self.sections)
        return "daemons killed"

    def end_daemon(self):
        self.look()
        code = self.daemon.stop()
        if code != 0:
            raise AssertionError(f"SIGTERM: koto-l3d ended with {code}: {self.daemon.said()[-2000:]}")
        self.daemon = self.chain.start_daemon(**self.sections)
        return "daemons stopped by SIGTERM"

    def reset_line(self):
        self._reset(self.chain.network.receiver, self.chain.ports.receiver)
        return "resets of the output link"

    def reset_input(self):
        self._reset(self.chain.network.daemon, self.chain.ports.tcp)
        return "resets of the input"

    def _reset(self, at, port):
        rules = Rules(self.chain.network, at)
        rules.load(f"tcp dport {port} {{count resets}} reject with tcp reset", hook="input", priority="0")
        self.wait(0.1, 0.5)
        rules.clear()

    def pull_cable(self):
        self.chain.network.pull_cable()
        self.wait(0.2, 2)
        self.chain.network.pull_cable(False)
        return "cables pulled"

    def lose_packets_of_the_line(self):
        """TCP sends them again; nobody above it must notice more than time."""
        rules = Rules(self.chain.network, self.chain.network.receiver)
        rules.load("meta l4proto tcp numgen random mod 100 < 10 {count lost} drop", hook="input", priority="0")
        self.wait(0.2, 1)
        rules.clear()
        return "spells of 10 % loss on the output link"

    def talk_nonsense(self):
        datagrams = 300
        with self.chain.network.on(self.chain.network.sender), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            talk_nonsense(s, datagrams, self.random, self.chain.ports.udp)
        self.garbage += datagrams
        return f"times {datagrams} datagrams of garbage"


def talk_nonsense(s, datagrams, rng, first_port):
    """What no crate sends: too short, of an event number that cannot be, of no fragment."""
    for i in range(datagrams):
        data = (rng.randbytes(rng.randrange(12)), struct.pack(">III", 0xF0000000 | i, 0, 0) + bytes(100),
                struct.pack(">III", 0, 0, 0) + rng.randbytes(rng.randrange(1, 3000)))[i % 3]
        s.sendto(data, (namespaces.DAEMON, first_port + i % harness.UDP_PORTS))
        if i % 16 == 0:
            time.sleep(0.001)


WITHOUT_LOSS = [Breaker.kill_receiver, Breaker.stop_receiver, Breaker.reset_line, Breaker.pull_cable, Breaker.lose_packets_of_the_line,
                Breaker.talk_nonsense]
BOTH_ENDS_OF_TCP = [*WITHOUT_LOSS, Breaker.reset_input, Breaker.kill_daemon, Breaker.end_daemon]


def until_it_ends(breaker, replay, faults, seconds):
    """One fault after the other, with a pause between them, until replay has sent everything; its ledger."""
    until = time.monotonic() + seconds
    while replay.running() and time.monotonic() < until:
        breaker.one_of(faults)
        breaker.wait(0.2, 1)
    return breaker.chain.finish_replay(replay, harness.PATIENCE)
