#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat: after tens of thousands of events the daemon holds what it planned at its start, plus 5 %, and after
the first spill it does not grow."""
import unittest

import harness
import level2
from level2_sender import HEADER, discriminator


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


if __name__ == "__main__":
    harness.main()
