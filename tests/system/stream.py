#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an independent sender of the record stream sends comes out of the store byte for byte, and it is told that a record is
safe only once it is. Wrong records: tests/transport/input/tcp_receiver_test.cpp."""
import signal

import harness
import level2
import stream_sender
from harness import nonzero
from stream_sender import record


class StreamTest(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.maker = level2.EventMaker(self.crates, 21)
        self.sent = {}

    def event(self, sender, spill, number):
        self.sent[spill, number] = self.maker.fragments(spill, number)
        return sender.event(spill, number, self.sent[spill, number])

    def test_nothing_is_acknowledged_before_it_is_stored(self):
        """Without a receiver, which comes later, and while it stands still; also not what a sender sends again when it comes back."""
        daemon = self.start_daemon(spool={"folder": ""})  # a disk would make them safe
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(9)
            first = self.event(sender, 9, 1)
            for number in range(2, 41):
                last = self.event(sender, 9, number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 40, "the daemon to take all")
            self.assertLess(sender.acknowledged, first)
            receiver = self.start_receiver()
            sender.wait_for_acknowledgement(last)
            receiver.signal(signal.SIGSTOP)
            for number in range(41, 81):
                self.event(sender, 9, number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 80, "the daemon to take all")
            sender.reconnect()  # the events are known, but not safe: duplicates
            self.assertEqual(sender.acknowledged, last)
            for number in range(81, 101):
                self.event(sender, 9, number)
            end = sender.end(9, 100)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 100, "the daemon to take all")
            self.assertFalse(sender.listen(1, lambda: sender.acknowledged > last), "it was acknowledged before it was stored")
            self.assertEqual(daemon.status()["events"]["in_flight"], 60)
            receiver.signal(signal.SIGCONT)
            sender.wait_for_acknowledgement(end)
        ledger = self.end_and_compare(daemon, receiver, self.sent)
        self.assertEqual(ledger["fragments"]["duplicate"], 40 * 3)
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (100, 100))

    def test_every_fragment_comes_back_over_connections_that_break_within_a_record(self):
        """Boards that compressed by themselves, too, but not what lacks a fragment or is malformed."""
        self.maker = level2.EventMaker(self.crates, 22, opaque=0.1)
        receiver, daemon = self.start_receiver(), self.start_daemon()
        with self.stream_sender(run=7).connect() as sender:
            for spill, events in ((511, 200), (0, 60)):
                sender.begin(spill)
                for number in range(1, events + 1):
                    if spill == 0 and number % 10 == 5:
                        # Half a record, then nobody.
                        fragments = self.maker.fragments(spill, number)
                        whole = record(stream_sender.EVENT, spill, sender.next, stream_sender.event_body(number, fragments))
                        sender.send_raw(whole[:[10, 40, 5000, len(whole) - 1][number // 10 % 4]])
                        sender.reconnect()
                    self.event(sender, spill, number)
                sender.end(spill, events)
            sender.begin(1)
            fragments = self.maker.fragments(1, 1)
            sender.event(1, 1, {0: fragments[0], 2: fragments[2]})
            fragments = self.maker.fragments(1, 2)
            fragments[1] = fragments[1][:4] + b"\x00" + fragments[1][5:]
            sender.event(1, 2, fragments)
            sender.wait_for_acknowledgement(sender.end(1, 2))
            self.assertFalse(sender.kept)
        status = daemon.wait_for(lambda s: s["events"]["incomplete"] == 2 and s["events"]["forwarded"] == 260, "all events to be counted")
        self.assertEqual(nonzero(status["fragments"]["malformed"]), {"header_tag": 1})
        self.assertEqual((status["fragments"]["incomplete"], nonzero(status["refused"])), (4, {"stream_length": 6}))
        self.assert_metrics_conserved(daemon)
        ledger = self.end_and_compare(daemon, receiver, self.sent)
        self.assertEqual((ledger["events"]["admitted"], ledger["fragments"]["admitted"]), (260, 780))
        self.assertEqual([(s["spill"], s["admitted"], s["expected"]) for s in ledger["spills"]], [(511, 200, 200), (0, 60, 60), (1, 0, 2)])
        self.assert_extracted(self.sent)


if __name__ == "__main__":
    harness.main()
