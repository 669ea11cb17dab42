#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers that say little, or say it by hand: they hold up neither data nor the end, and are answered as docs/formats.md and docs/protocol.md
say. Floods of garbage, and strangers by the hundred, are the rows R18–22 of tests/fault."""
import json
import socket
import struct
import time

import harness
import link_sender
from link_sender import LinkSender


def an_event(spill, number) -> bytes:
    """A packed event of section 7 without fragments."""
    return struct.pack("<IIIHHIIII", 32, spill, number, 1, 0, 0, 0, 0, 0)


class OnTheDaemon(harness.SystemTest):
    def test_half_open_connections_do_not_hold_up_the_end(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(tcp={"max_connections": 8})
        for port, peers in ((self.ports.tcp, 4), (self.ports.monitor, 50)):
            for _ in range(peers):
                self.addCleanup(socket.create_connection((harness.HOST, port)).close)
        sender, sent = self.stream_sender(run=7).connect(), self.make_events(20)
        sender.begin(1)
        self.send_events(sender, sent)
        sender.wait_for_acknowledgement(sender.end(1, 20))
        stuck = self.stream_sender(run=7).connect()  # it stops within a record
        stuck.begin(2)
        stuck.send_raw(b"\1")
        self.assertEqual(daemon.get("/status")[0], 200)
        start = time.monotonic()
        self.end_and_compare(daemon, receiver, sent)
        self.assertLess(time.monotonic() - start, 10 + harness.PATIENCE / 2)


class OnTheReceiver(harness.SystemTest):
    def connect(self):
        peer = LinkSender(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(peer.close)
        return peer

    def test_an_independent_daemon(self):
        """Sections 6 and 8 from the other end: hello, blocks, wrong blocks, repeats, gaps, heartbeat, goodbye."""
        receiver = self.start_receiver()
        peer, session = self.connect(), 0x1234567890ABCDEF

        def say(kind, sequence=0, body=b""):
            peer.send(link_sender.header(kind, session, sequence), body)

        def block(sequence, events=1, **wrong):
            payload = b"".join(an_event(3, 10 * sequence + i) for i in range(events))
            return link_sender.block(session, sequence, payload, events, **wrong)

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
        peer = self.connect()
        peer.send(*link_sender.hello(session, first=2))
        self.assertEqual(peer.receive()[:3], (link_sender.WELCOME, session, 3))
        say(link_sender.BLOCK, 4, block(4, events=3))
        self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, 4))
        say(link_sender.GOODBYE, 4)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(set(self.stored()), {(3, 10), (3, 20), (3, 30), (3, 40), (3, 41), (3, 42)})

    def test_its_ledger_is_written_at_a_goodbye(self):
        """Also while other daemons go on: the blocks of the second one keep the receiver from ever being idle."""
        receiver, ledger = self.start_receiver(), self.store / "ledger.json"

        def store(peer, session, sequence):
            payload = an_event(session, sequence)
            peer.send(link_sender.header(link_sender.BLOCK, session, sequence), link_sender.block(session, sequence, payload, 1))
            self.assertEqual(peer.receive()[:3], (link_sender.ACKNOWLEDGEMENT, session, sequence))

        sequences = {5: 0, 6: 0}
        peers = {}
        for session in sequences:
            peers[session] = self.connect()
            peers[session].send(*link_sender.hello(session))
            self.assertEqual(peers[session].receive()[0], link_sender.WELCOME)

        def go_on(session):
            sequences[session] += 1
            store(peers[session], session, sequences[session])
            return True

        for _ in range(3):
            go_on(5)
        go_on(6)
        ledger.unlink(missing_ok=True)  # of the time before the first block
        peers[5].send(link_sender.header(link_sender.GOODBYE, 5, 3), b"")
        harness.wait_until(lambda: go_on(6) and ledger.exists(), "the ledger")
        account = json.loads(ledger.read_text())
        self.assertFalse(account["clean"], "it still runs")
        self.assertEqual(len(account["sessions"]), 2)
        self.assertGreaterEqual(account["events"]["forwarded"], 4)
        self.assertLessEqual(account["events"]["forwarded"], 3 + sequences[6])
        self.assertEqual(receiver.stop(), 0)
        account = json.loads(ledger.read_text())
        self.assertTrue(account["clean"])
        self.assertEqual(account["events"]["forwarded"], 3 + sequences[6])


if __name__ == "__main__":
    harness.main()
