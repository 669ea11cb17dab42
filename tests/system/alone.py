#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon without a receiver must leave the receiver's place free. A socket that connects to a port of its own machine may be given that
very port as its own, and is then connected to itself. That is rare; in a network namespace of this process, where connections have few
ports to choose from, it happens at once. Without the right to make one, the test is skipped."""
import pathlib
import subprocess
import unittest

import harness
import level2
import own_space

FEW, MANY = 8, 10000


def make_network():
    try:
        own_space.enter(own_space.NETWORK)
    except PermissionError as e:
        raise unittest.SkipTest(f"no right to make a network namespace: {e.strerror}") from None
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def leave_ports(first, count):
    pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"{first} {first + count - 1}")


class Alone(harness.SystemTest):
    def test_the_receivers_place_stays_free(self):
        make_network()
        leave_ports(self.ports.receiver, MANY)
        daemon = self.start_daemon()
        leave_ports(self.ports.receiver, FEW)
        daemon.wait_to_say("came back to itself")
        leave_ports(self.ports.receiver, MANY)
        receiver = self.receiver_that_starts()
        daemon.wait_for(lambda s: s["receiver"]["connected"], "a receiver")
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 67), {}
        for number in range(1, 21):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
        daemon.wait_for_stored(20)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)

    def receiver_that_starts(self):
        """The daemon may be trying at that very moment."""
        for attempt in range(5):
            receiver = self.start_receiver(listening=False)
            harness.wait_until(lambda: not receiver.running() or "listening on" in receiver.said(), "a receiver starts or ends")
            if receiver.running():
                return receiver
            self.assertIn("in use", receiver.said())
        self.fail("the receiver's place is taken")


if __name__ == "__main__":
    harness.main()
