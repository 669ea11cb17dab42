#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat: after tens of thousands of events the daemon holds what it planned at its start, plus 5 %, and after
the first spill it does not grow."""
import contextlib
import resource
import socket
import time
import unittest

import harness
import level2
import stream_sender
from level2_sender import HEADER, discriminator

MIB = 1 << 20


class Memory(harness.SystemTest):
    crate_lines = ["0: 1 x 125 MHz"]
    crates = level2.readout(crate_lines)
    chunk_bytes = 4000

    @unittest.skipIf(harness.SANITIZED, "a sanitizer's own memory grows")
    def test_twenty_thousand_events(self):
        events, spills = 2000, range(100, 110)
        frames = {"count": 8, "events": 256}  # hold a spill: however slow the daemon is, nothing need be shed
        receiver, daemon = self.start_receiver(), self.start_daemon(outbox={"memory": "256 MiB"}, frames=frames)
        pattern = level2.EventMaker(self.crates, 81).fragments(0, 1)[0]
        sender, held = self.udp_sender(daemon), [daemon.memory()]
        for sent, spill in enumerate(spills, 1):
            for number in range(1, events + 1):
                sender.send([HEADER.pack(number, 0, 0) + level2.renamed(pattern, 1, spill, number),
                             HEADER.pack(number, 1, discriminator(0, spill, 0))])
                if number % 500 == 0:
                    held.append(daemon.memory())
            sender.end(spill, events)
            daemon.wait_for_stored(events * sent)
        held.append(daemon.memory())
        planned, after_a_spill, most = daemon.status()["memory_planned"], max(held[:5]), max(held)
        print(f"{planned / 1e6:.1f} MB planned, {held[0] / 1e6:.1f} MB at the start, {most / 1e6:.1f} MB at most", end=" ", flush=True)
        self.assertLessEqual(most, planned * 1.05)
        self.assertLessEqual(most - after_a_spill, 1e6, "it grows with every spill")
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["events"]["forwarded"], events * len(spills))
        receiver.stop()


class Senders(harness.SystemTest):
    """Over TCP, of the readout that makes the largest events."""
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)
    MANY = 1000
    CHURN = 4  # seconds

    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 2 * self.MANY:
            self.skipTest(f"only {hard} files may be open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * self.MANY), hard))

    @unittest.skipIf(harness.SANITIZED, "a sanitizer's own memory grows")
    def test_that_never_finish_an_event(self):
        """Each place is taken by one that holds most of an event, while others come and go that find none; then all come and go."""
        maker = level2.EventMaker(self.crates, 83)
        body = stream_sender.event_body(1, maker.fragments(1, 1))
        most_of_it = stream_sender.record(stream_sender.EVENT, 1, 2, body)[:len(body) * 99 // 100]
        daemon = self.start_daemon(tcp={"max_connections": self.MANY}, frames={"count": 8, "events": 16},
                                   outbox={"memory": "16 MiB"})
        before, planned = daemon.memory(), daemon.status()["memory_planned"]

        def connect(n):
            senders = []
            for _ in range(n):
                sender = stream_sender.StreamSender(self.crates, harness.HOST, self.ports.tcp, run=7, seconds=harness.PATIENCE)
                self.addCleanup(sender.close)
                sender.connect()
                senders.append(sender)
            return senders

        held, most = connect(self.MANY), 0
        for sender in held:
            sender.send_raw(most_of_it)
            most = max(most, daemon.memory())
        daemon.wait_for(lambda st: sum(l["bytes"] for l in st["links"] if l["link"] == "tcp") >= self.MANY * len(most_of_it),
                        "most of an event of each")
        most = max(most, daemon.memory())

        def come_and_go(seconds, and_send):
            """How many; each is closed at once."""
            end, times = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                with contextlib.suppress(ConnectionError), socket.create_connection((harness.HOST, self.ports.tcp), timeout=harness.PATIENCE) as peer:
                    if and_send:
                        peer.sendall(hello + most_of_it)
                times += 1
            return times

        hello = stream_sender.record(stream_sender.HELLO, 0, 1, stream_sender.hello_body(7, self.crates))
        refused = come_and_go(self.CHURN / 2, and_send=False)
        most = max(most, daemon.memory())
        for sender in held:
            sender.close()
        for sender in connect(self.MANY // 10):
            sender.send_raw(most_of_it)
            most = max(most, daemon.memory())
            sender.close()
        times = come_and_go(self.CHURN / 2, and_send=True)
        most = max(most, daemon.memory())
        print(f"{refused} came and went while there was no place, {times} afterwards;", end=" ")
        print(f"{planned / 1e6:.1f} MB planned, {before / 1e6:.1f} MB before, {most / 1e6:.1f} MB at most", end=" ", flush=True)
        self.assertLessEqual(most, planned * 1.05)
        harness.wait_until(lambda: daemon.memory() < before + 32 * MIB, lambda: f"memory to be given back: {daemon.memory() / 1e6:.1f} MB")
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    harness.main()
