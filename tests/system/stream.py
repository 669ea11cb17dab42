#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an independent sender of the record stream sends comes out of the store byte for byte, and it is told that a record is
safe only once it is."""
import signal
import socket
import struct

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

    def spill(self, sender, spill, events):
        sender.begin(spill)
        for number in range(1, events + 1):
            self.event(sender, spill, number)
        return sender.end(spill, events)

    def finish(self, daemon, receiver):
        ledger = self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)
        return ledger

    def test_every_fragment_comes_back_and_is_acknowledged(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        with self.stream_sender(run=7).connect() as sender:
            self.spill(sender, 511, 200)
            last = self.spill(sender, 0, 100)
            sender.wait_for_acknowledgement(last)
            self.assertFalse(sender.kept)
        status = daemon.wait_for_stored(300)
        self.assertEqual(nonzero(status["refused"]), {})
        self.assert_metrics_conserved(daemon)
        ledger = self.finish(daemon, receiver)
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (300, 300))
        self.assertEqual((ledger["fragments"]["seen"], ledger["fragments"]["admitted"]), (900, 900))
        self.assertEqual([(s["spill"], s["admitted"], s["expected"]) for s in ledger["spills"]], [(511, 200, 200), (0, 100, 100)])
        self.assert_extracted(self.sent)

    def test_the_whole_readout_with_boards_that_compressed_by_themselves(self):
        self.crate_lines, self.crates = level2.KOTO, level2.readout(level2.KOTO)
        self.maker = level2.EventMaker(self.crates, 22, opaque=0.05)
        receiver, daemon = self.start_receiver(), self.start_daemon()
        with self.stream_sender(run=7).connect() as sender:
            sender.wait_for_acknowledgement(self.spill(sender, 77, 12))
        self.finish(daemon, receiver)
        self.assert_extracted(self.sent)

    def test_nothing_is_acknowledged_before_it_is_stored(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(spool={"folder": ""})  # a disk would make them safe
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(1)
            for number in range(1, 51):
                last = self.event(sender, 1, number)
            sender.wait_for_acknowledgement(last)
            receiver.signal(signal.SIGSTOP)
            try:
                for number in range(51, 151):
                    self.event(sender, 1, number)
                end = sender.end(1, 150)
                daemon.wait_for(lambda s: s["events"]["admitted"] == 150, "the daemon to take all")
                # Longer than the daemon waits before it sends blocks again.
                sender.listen(3)
                self.assertEqual(sender.acknowledged, last)
                self.assertEqual(daemon.status()["events"]["in_flight"], 100)
            finally:
                receiver.signal(signal.SIGCONT)
            sender.wait_for_acknowledgement(end)
        ledger = self.finish(daemon, receiver)
        self.assertEqual(ledger["events"]["forwarded"], 150)

    def test_without_receiver_and_disk_nothing_is_acknowledged_until_one_comes(self):
        daemon = self.start_daemon(spool={"folder": ""})
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(4)
            first = self.event(sender, 4, 1)
            for number in range(2, 41):
                self.event(sender, 4, number)
            end = sender.end(4, 40)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 40, "the daemon to take all")
            self.assertLess(sender.acknowledged, first)
            receiver = self.start_receiver()
            sender.wait_for_acknowledgement(end)
        self.finish(daemon, receiver)

    def test_a_sender_that_comes_back_sends_again_what_was_not_acknowledged(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(spool={"folder": ""})  # a disk would make them safe
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(9)
            for number in range(1, 41):
                last = self.event(sender, 9, number)
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
            self.assertFalse(sender.listen(1, lambda: sender.acknowledged > last), "a duplicate was acknowledged before the original")
            receiver.signal(signal.SIGCONT)
            sender.wait_for_acknowledgement(end)
        ledger = self.finish(daemon, receiver)
        self.assertEqual(ledger["fragments"]["duplicate"], 40 * 3)
        self.assertEqual(ledger["events"]["admitted"], 100)

    def test_a_connection_that_breaks_within_a_record(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(2)
            for number in range(1, 61):
                if number % 10 == 5:
                    # Half a record, then nobody.
                    fragments = self.maker.fragments(2, number)
                    whole = record(stream_sender.EVENT, 2, sender.next, stream_sender.event_body(number, fragments))
                    sender.send_raw(whole[:[10, 40, 5000, len(whole) - 1][number // 10 % 4]])
                    sender.reconnect()
                self.event(sender, 2, number)
            sender.wait_for_acknowledgement(sender.end(2, 60))
        ledger = self.finish(daemon, receiver)
        self.assertEqual((ledger["events"]["admitted"], ledger["fragments"]["admitted"]), (60, 180))

    def test_incomplete_and_malformed_events(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        with self.stream_sender(run=7).connect() as sender:
            sender.begin(3)
            self.event(sender, 3, 1)
            fragments = self.maker.fragments(3, 2)
            sender.event(3, 2, {0: fragments[0], 2: fragments[2]})
            self.event(sender, 3, 3)
            fragments = self.maker.fragments(3, 4)
            fragments[1] = fragments[1][:4] + b"\x00" + fragments[1][5:]
            sender.event(3, 4, fragments)
            self.event(sender, 3, 5)
            sender.wait_for_acknowledgement(sender.end(3, 5))
        status = daemon.wait_for(lambda s: s["events"]["incomplete"] == 2, "both events to be counted")
        self.assertEqual(nonzero(status["fragments"]["malformed"]), {"header_tag": 1})
        self.assertEqual(status["fragments"]["incomplete"], 4)
        self.assertEqual(status["events"]["incomplete"], 2)
        self.finish(daemon, receiver)


class BadRecords(harness.SystemTest):
    """A wrong record ends its connection with one counted reason and a text; other connections go on."""

    def setUp(self):
        super().setUp()
        self.maker = level2.EventMaker(self.crates, 23)

    def body(self, number=1, spill=5):
        return stream_sender.event_body(number, self.maker.fragments(spill, number))

    def test_each_has_its_reason(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        event, hello = stream_sender.EVENT, stream_sender.hello_body(7, self.crates)
        body = self.body()
        table = struct.Struct("<HHI")
        wrong = {
            "stream_magic": [record(event, 5, 3, body, magic=b"KL3X"), b"GET / HTTP/1.0\r\n\r\n" + bytes(40)],
            "stream_version": [record(event, 5, 3, body, version=2)],
            "stream_checksum": [record(event, 5, 3, body, body_crc=1), record(event, 5, 3, body, header_crc=2)],
            "stream_length": [
                record(event, 5, 3, b"", length=(64 << 20) + 1), record(event, 5, 3, b"", length=0xFFFFFFFF),
                record(event, 5, 3, body[:8]), record(event, 5, 3, b""),
                record(event, 5, 3, body[:-4]), record(event, 5, 3, body + bytes(4)),
                record(stream_sender.BEGIN, 5, 3, b""), record(stream_sender.END, 5, 3, bytes(3))],
            "stream_sequence": [record(event, 5, 1, body), record(event, 5, 0, body),
                                record(stream_sender.ACKNOWLEDGEMENT, 0, 0, bytes(16))],
            "stream_content": [
                record(event, 5, 3, struct.pack("<II", 0, 3) + body[8:]),  # event number 0
                record(event, 5, 3, struct.pack("<II", 1, 4) + body[8:]),  # a fragment more than there is
                record(event, 5, 3, body[:16] + table.pack(3, 0, 6224) + body[24:]),  # no such crate
                record(event, 5, 3, body[:16] + table.pack(1, 0, 6224) + body[24:]),  # crate 1 twice
                record(event, 5, 3, body[:16] + table.pack(0, 0, 0xFFFFFFFF) + body[24:]),
                record(event, 512, 3, body),  # no such spill
                record(9, 5, 3, body), record(0, 5, 3, body),  # no such type
                record(stream_sender.HELLO, 0, 3, stream_sender.hello_body(7, self.crates[:2])),
            ],
        }
        first = {
            "stream_content": [record(event, 5, 1, body),  # no hello
                               record(stream_sender.HELLO, 0, 1, stream_sender.hello_body(7, level2.readout(level2.KOTO)))],
            "stream_length": [record(stream_sender.HELLO, 0, 1, hello[:-1]), record(stream_sender.HELLO, 0, 1, b"")],
        }
        expected = {}
        steady = self.stream_sender(run=7).connect()
        steady.begin(5)
        number, sent, unexpected = 0, {}, []
        for with_hello, cases in ((True, wrong), (False, first)):
            for reason, records in cases.items():
                for i, bad in enumerate(records):
                    number += 1
                    sent[5, number] = self.maker.fragments(5, number)
                    steady.event(5, number, sent[5, number])
                    before = daemon.status()["refused"]
                    sender = self.stream_sender(run=7).connect(hello=with_hello)
                    if with_hello:
                        sender.send(stream_sender.BEGIN, 5, stream_sender.begin_body())
                    sender.send_raw(bad)
                    refusal = None
                    try:
                        sender.listen(harness.PATIENCE)
                    except stream_sender.Refused as e:
                        refusal = str(e)
                    except ConnectionError:
                        pass
                    now = daemon.wait_for(lambda s: s["refused"] != before, f"{reason} {i} to be counted")["refused"] \
                        if refusal else daemon.status()["refused"]
                    change = {k: now[k] - before[k] for k in now if now[k] != before[k]}
                    if change != {reason: 1} or not refusal:
                        unexpected.append(f"{reason} {i} ({'with' if with_hello else 'without'} hello): {change}, refusal: {refusal}")
                    expected[reason] = expected.get(reason, 0) + 1
        self.assertFalse(unexpected, "\n" + "\n".join(unexpected))
        steady.wait_for_acknowledgement(steady.end(5, number))
        ledger = self.stop_daemon(daemon)
        self.assertEqual(nonzero(ledger["datagrams"]["malformed"]), expected)
        receiver.stop()
        self.assert_stored(sent)

    def test_senders_that_stall_within_a_record_do_not_hold_up_others(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(frames={"count": 2, "events": 16})
        sent, stalled = {}, []
        for number in range(1, 7):
            sender = self.stream_sender(run=7).connect()
            sender.begin(5)
            sent[5, number] = self.maker.fragments(5, number)
            whole = record(stream_sender.EVENT, 5, sender.next, stream_sender.event_body(number, sent[5, number]))
            sender.send_raw(whole[:number * 2500])
            stalled.append((sender, whole[number * 2500:]))
        steady = self.stream_sender(run=7).connect()
        steady.begin(5)
        for number in range(7, 207):
            sent[5, number] = self.maker.fragments(5, number)
            last = steady.event(5, number, sent[5, number])
        steady.wait_for_acknowledgement(last)
        # Two go away for good, the others go on.
        for sender, _ in stalled[:2]:
            sender.close()
        del sent[5, 1], sent[5, 2]
        for sender, rest in stalled[2:]:
            sender.next += 1
            sender.send_raw(rest)
            sender.wait_for_acknowledgement(sender.next - 1)
        steady.wait_for_acknowledgement(steady.end(5, 204))
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)

    def test_more_connections_than_there_may_be(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(tcp={"max_connections": 4})
        sender = self.stream_sender(run=7).connect()
        sender.wait_for_acknowledgement(sender.begin(8))
        idle = [socket.create_connection((harness.HOST, self.ports.tcp)) for _ in range(300)]
        sent = {}
        for number in range(1, 31):
            sent[8, number] = self.maker.fragments(8, number)
            sender.event(8, number, sent[8, number])
        sender.wait_for_acknowledgement(sender.end(8, 30))
        for s in idle:
            s.close()
        # Whoever asks after they have gone is let in.
        again = self.stream_sender(run=7)

        def is_let_in():
            try:
                again.connect()
                again.wait_for_acknowledgement(again.begin(9), 2)
                return True
            except (stream_sender.Refused, OSError):
                again.close()
                return False
        harness.wait_until(is_let_in, "a place for another sender")
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)

    def test_another_run_or_readout_is_refused_with_a_text(self):
        daemon = self.start_daemon()
        sender = self.stream_sender(run=8).connect()
        with self.assertRaisesRegex(stream_sender.Refused, "run"):
            sender.listen(harness.PATIENCE)
        self.crates = level2.readout(["0-2: 3 x 125 MHz"])
        sender = self.stream_sender(run=7).connect()
        with self.assertRaisesRegex(stream_sender.Refused, "readout"):
            sender.listen(harness.PATIENCE)
        daemon.wait_for(lambda s: s["refused"]["stream_content"] == 2, "both to be counted")


if __name__ == "__main__":
    harness.main()
