#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both ends of the output link against independent peers, written from docs/formats.md and docs/protocol.md: credit, acknowledgements, hello
after every break, wrong blocks, heartbeats, goodbye. Which rule is for what: forwarder_test, the protocol models."""
import json
import struct
import time

import harness
import link_sender
import store_reader
from link_receiver import LinkReceiver
from link_sender import ACKNOWLEDGEMENT, BLOCK, GOODBYE, HEARTBEAT, HELLO, REFUSAL, WELCOME


class OfTheDaemon(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.receiver = LinkReceiver(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(self.receiver.close)
        self.sent, self.events = {}, {}

    def send(self, events, spill):
        sent = self.make_events(events, spill)
        self.send_events(self.sender, sent)
        self.sent |= sent

    def hello(self):
        """The daemon's hello on a new connection, or on this one; its session is remembered."""
        kind, self.session, first, _, body = self.next()
        self.assertEqual(kind, HELLO)
        self.assertEqual(struct.unpack_from("<II", body), (7, 3))
        return first

    def next(self, heartbeats=False):
        while True:
            message = self.receiver.receive()
            if message[0] != HEARTBEAT or heartbeats:
                return message

    def block(self, sequence):
        """The next message must be this block; its events are noted."""
        self.note(sequence, self.next())

    def note(self, sequence, message):
        kind, session, its_sequence, _, body = message
        self.assertEqual((kind, session, its_sequence), (BLOCK, self.session, sequence))
        head, payload = memoryview(body)[:64], memoryview(body)[64:]
        fields = store_reader.BLOCK_HEADER.unpack(head)
        self.assertEqual((fields[0], fields[1], fields[4]), (b"KL3B", 2 if fields[12] else 1, len(payload)))
        self.assertEqual(store_reader.crc32c(head[:60]), fields[-1])
        block = store_reader.read_block(payload, fields)
        self.assertEqual((block.session, block.sequence, block.run, block.node), (session, sequence, 7, 3))
        self.assertLess(abs(block.sealed - time.time_ns()), 60e9)
        for event in block.events:
            self.events[event.spill, event.number] = (sequence, list(event.fragments.values()))

    def say(self, kind, sequence=0, credit=0, body=b""):
        if kind == WELCOME:
            body = link_sender.answer(sequence + 1)
        self.receiver.send(link_sender.header(kind, self.session, sequence, credit), body)

    def nothing_but_heartbeats(self):
        end = time.monotonic() + 0.5
        while time.monotonic() < end and not self.receiver.silent(end - time.monotonic()):
            self.assertEqual(self.receiver.receive()[0], HEARTBEAT)

    def take_all(self, acknowledged, events):
        """Acknowledges block by block until so many events have come. Decoding waits: on a busy machine it takes longer than a
        receiver may be silent."""
        messages, come, first = [], len(self.events), acknowledged + 1
        while come < events:
            messages.append(self.next())
            come += store_reader.BLOCK_HEADER.unpack(messages[-1][4][:64])[5]
            acknowledged += 1
            self.say(ACKNOWLEDGEMENT, acknowledged, 4)
        for sequence, message in enumerate(messages, first):
            self.note(sequence, message)
        return acknowledged

    def finish(self):
        """SIGTERM; the daemon must say goodbye and be content."""
        self.daemon.signal(harness.signal.SIGTERM)
        message = self.next()
        while message[0] == BLOCK:  # what was still open
            self.say(ACKNOWLEDGEMENT, message[2], 4)
            message = self.next()
        self.assertEqual(message[0], GOODBYE)
        self.assertEqual(self.daemon.wait(), 0, self.daemon.said())
        self.assert_conserved(self.daemon.ledger())

    def assert_all_came(self):
        self.assertEqual({k: f for k, (_, f) in self.events.items()}, self.sent)

    def test_bytes_that_flow_are_life(self):
        """On a slow link a block takes longer than a receiver may be silent."""
        self.receiver.read_little()
        self.daemon = self.start_daemon(outbox={"block": "1 MiB", "block_age": "1 s"}, forward={"acknowledge_time_limit": "10 min"})
        self.sender = self.udp_sender(self.daemon)
        self.receiver.accept()
        self.hello()
        self.say(WELCOME, 0, 3)
        self.daemon.wait_for(lambda s: not s["state"]["degraded"], "the receiver")
        self.send(1200, 1)
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.receiver.read_some(8 << 10)
            self.assertNotIn("receiver_absent", self.daemon.status()["state"]["degraded"])
            time.sleep(0.05)
        self.assertEqual(self.daemon.status()["receiver"]["blocks_stored"], 0, "a block came: this proves less than it says")
        self.assertEqual(self.daemon.status()["receiver"]["blocks_resent"], 0)
        self.take_all(0, 1200)
        self.assert_all_came()
        self.finish()

    def test_credit_breaks_and_refusals(self):
        self.daemon = self.start_daemon(outbox={"block": "16 KiB", "block_age": "1 s"}, forward={"acknowledge_time_limit": "10 min"})
        self.sender = self.udp_sender(self.daemon)
        self.receiver.accept()
        self.assertEqual(self.hello(), 1)
        self.say(REFUSAL, body="the disk is on fire".encode())
        self.daemon.wait_to_say("the disk is on fire")
        self.assertEqual(self.hello(), 1)  # it tries again
        self.say(WELCOME, 0, 3)
        self.send(100, 1)
        # No more blocks than there is credit for.
        for stored, credit, blocks in ((None, 0, (1, 2, 3)), (2, 3, (4, 5)), (5, 1, (6,))):
            if stored:
                self.say(ACKNOWLEDGEMENT, stored, credit)
            for sequence in blocks:
                self.block(sequence)
            self.nothing_but_heartbeats()
        session = self.session
        self.receiver.accept()  # the link breaks
        self.assertIn(self.hello(), (5, 6))  # the acknowledgement may have gone down with the link
        self.assertEqual(self.session, session)
        self.say(WELCOME, 6, 4)  # it was stored before the link broke
        last = self.take_all(6, 100)
        self.assert_all_came()
        # A receiver that forgot the session: it says so at the heartbeat, and hears hello.
        while self.next(heartbeats=True)[0] != HEARTBEAT:
            pass
        self.say(REFUSAL)
        self.assertEqual(self.hello(), last + 1)
        self.say(WELCOME, last, 4)
        self.send(20, 2)
        self.take_all(last, 120)
        self.assert_all_came()
        self.finish()


class OfTheReceiver(harness.SystemTest):
    def test_hello_blocks_repeats_gaps_heartbeat_and_goodbye(self):
        receiver = self.start_receiver()

        def connect():
            return self.enterContext(link_sender.LinkSender(harness.HOST, self.ports.receiver, harness.PATIENCE))
        peer, session = connect(), 0x1234567890ABCDEF

        def say(kind, sequence=0, body=b""):
            peer.send(link_sender.header(kind, session, sequence), body)

        def block(sequence, events=1, **wrong):
            # Packed events without fragments.
            payload = b"".join(struct.pack("<IIIHHIIII", 32, 3, 10 * sequence + i, 1, 0, 0, 0, 0, 0) for i in range(events))
            return link_sender.block(session, sequence, payload, events, **wrong)

        peer.send(link_sender.header(link_sender.HELLO, session, 1, version=9), link_sender.hello(session)[1])  # refused, and counted
        say(link_sender.HEARTBEAT)
        kind, its_session, _, _, body = peer.receive()
        self.assertEqual((kind, its_session, body), (link_sender.REFUSAL, session, b""))

        peer.send(*link_sender.hello(session))
        kind, its_session, stored, credit, _ = peer.receive()
        self.assertEqual((kind, its_session, stored), (link_sender.WELCOME, session, 0))
        self.assertGreater(credit, 0)

        for sequence in (1, 2, 3):
            say(link_sender.BLOCK, sequence, block(sequence))
            self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, sequence))
        for what, sequence, body in (("a repeat", 2, block(2)), ("a gap", 5, block(5)),
                                     ("a wrong payload checksum", 4, block(4, payload_crc=1)),
                                     ("a flipped bit", 4, block(4)[:70] + b"\xff" + block(4)[71:]),
                                     ("a block of another number", 4, block(5)),
                                     ("a cut block", 4, block(4)[:80]), ("no block", 4, b""),
                                     ("a payload longer than it says", 4, block(4) + bytes(8))):
            with self.subTest(what):
                say(link_sender.BLOCK, sequence, body)
                self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, 3))
        say(link_sender.HEARTBEAT)
        self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, 3))

        # The link breaks; the session continues over another connection.
        peer.close()
        peer = connect()
        peer.send(*link_sender.hello(session, first=2))
        self.assertEqual(peer.receive()[:3], (link_sender.WELCOME, session, 3))
        say(link_sender.BLOCK, 4, block(4, events=3))
        self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, 4))
        say(link_sender.GOODBYE, 4)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(set(self.stored()), {(3, 10), (3, 20), (3, 30), (3, 40), (3, 41), (3, 42)})
        self.assertEqual(json.loads((self.store / "ledger.json").read_text())["datagrams"]["malformed"]["garbage"], 1)


if __name__ == "__main__":
    harness.main()
