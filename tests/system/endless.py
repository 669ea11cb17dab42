#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers of the output link that send messages without an end, each frame legal: neither end takes more memory than it plans for,
the connection is shut down and counted, and the data goes on."""
import contextlib
import json
import re
import socket
import threading
import time
import unittest

import harness
import level2
import line_sender
from line_receiver import LineReceiver
from line_sender import MORE, LineSender
from sealed_sender import SealedSender

MIB = 1 << 20
EMPTY = bytes([MORE, 0]) * 500_000
SMALL = (bytes([MORE, 40]) + bytes(40)) * 25_000
LARGE = bytes([MORE | line_sender.LONG]) + MIB.to_bytes(8, "big") + bytes(MIB)
KINDS = {"large": LARGE, "small": SMALL, "empty": EMPTY}


class Stranger:
    """Begins a long frame of the handshake of a receiver with keys."""

    def __init__(self, where):
        self.socket = socket.create_connection(where, timeout=harness.PATIENCE)
        greeting = line_sender.GREETING[:12] + b"CURVE".ljust(20, b"\0") + line_sender.GREETING[32:]
        self.send_raw(greeting + bytes([line_sender.COMMAND | line_sender.LONG]) + (60 * MIB).to_bytes(8, "big"))
        self.close = self.socket.close

    def send_raw(self, data):
        self.socket.sendall(data)

    def is_shut_out(self):
        """What the receiver says comes first; then its end, if it hangs up."""
        try:
            while self.socket.recv(4096):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True


class Endless:
    """Seals frames of a message that has no end, each anew."""

    def __init__(self, peer, size):
        self.peer, self.frame = peer, bytes(size)

    def send_raw(self, _):
        frames = b"".join(self.peer.sealed(self.frame, True) for _ in range(1 if len(self.frame) > 1000 else 100))
        self.peer.send_raw(frames)
        return len(frames)


class Flood(threading.Thread):
    """Sends the same frames again and again, until the other end has had enough or so many bytes have gone."""

    def __init__(self, peer, frames, most=4096 * MIB):
        super().__init__()
        self.peer, self.frames, self.most, self.sent, self.cut = peer, frames, most, 0, False
        self.start()

    def run(self):
        try:
            while self.sent < self.most:
                self.sent += self.peer.send_raw(self.frames) or len(self.frames)
        except OSError:
            self.cut = True


class Highest:
    """The most resident memory of a program while a condition is awaited."""

    def __init__(self, program):
        self.program, self.most = program, program.memory()

    def until(self, condition, what, seconds=harness.PATIENCE):
        def look():
            self.most = max(self.most, self.program.memory())
            return condition()
        harness.wait_until(look, lambda: f"{what}, {self.most / MIB:.0f} MiB", seconds)


@unittest.skipIf(harness.SANITIZED, "a sanitizer's own memory grows")
class ToTheReceiver(harness.SystemTest):
    def connect(self, session=None):
        peer = LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(peer.close)
        if session:
            peer.send(*line_sender.hello(session))
            self.assertEqual(peer.receive()[0], line_sender.WELCOME)
        return peer

    def planned(self, receiver):
        return int(re.search(r"with (\d+) MiB of memory at most", receiver.said())[1]) * MIB

    def malformed(self, store):
        return json.loads((store / "ledger.json").read_text())["datagrams"]["malformed"]

    def test_one_peer_that_never_ends_a_message(self):
        for greeted in (False, True):
            for kind, frames in KINDS.items():
                with self.subTest(kind, greeted=greeted):
                    self.ports = harness.Ports()
                    store = self.folder / f"{kind}{greeted}"
                    receiver = self.start_receiver(store=store)
                    memory = Highest(receiver)
                    flood = Flood(self.connect(session=99 if greeted else None), frames)
                    memory.until(lambda: not flood.is_alive(), "the end of the flood")
                    print(f"{kind}{' greeted' if greeted else ''}: {memory.most / MIB:.0f} MiB,", end=" ", flush=True)
                    self.assertTrue(flood.cut)
                    self.assertLess(memory.most, self.planned(receiver) * 1.05)
                    if not greeted:
                        self.assertLess(memory.most, 128 * MIB)
                    harness.wait_until(lambda: receiver.memory() < 128 * MIB, "memory to be given back")
                    self.assertEqual(receiver.stop(), 0)
                    self.assertEqual(self.malformed(store)["oversized"], 1)


    def test_many_peers_beside_a_daemon(self):
        """Each holds less than one alone may: together they are too much. The daemon's events come through."""
        receiver, daemon = self.start_receiver(), self.start_daemon()
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 92), {}

        def some_events():
            for _ in range(20):
                number = len(sent) + 1
                sent[1, number] = maker.fragments(1, number)
                sender.event(1, number, sent[1, number])

        some_events()
        daemon.wait_for_stored(len(sent))
        memory = Highest(receiver)
        peers = [self.connect(session=1000 + i) for i in range(60)]
        floods = [Flood(peer, KINDS["empty" if i % 3 == 0 else "large"], most=64 * MIB) for i, peer in enumerate(peers)]
        some_events()
        memory.until(lambda: not any(f.is_alive() for f in floods), "the end of the floods")
        print(f"{memory.most / MIB:.0f} MiB,", end=" ", flush=True)
        self.assertLess(memory.most, self.planned(receiver) * 1.05)
        some_events()
        daemon.wait_for_stored(len(sent))
        for peer in peers:
            peer.close()
        harness.wait_until(lambda: receiver.memory() < 200 * MIB, "memory to be given back")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertGreater(self.malformed(self.store)["oversized"], 0)
        self.assertLess(len(receiver.said().splitlines()), 60)
        self.assert_stored(sent)

    def test_heartbeats_do_not_add_up(self):
        """ZeroMQ's own, in a connection that says no hello: none is part of a message, and none is held. Also not where for a moment
        only they come, as on a machine that gives the peer no processor."""
        receiver, peer = self.start_receiver(), self.connect()
        ping = b"\x04PING\x00\x00" + bytes(16)
        pings = (bytes([line_sender.COMMAND, len(ping)]) + ping) * 4

        def message():
            peer.send(line_sender.header(line_sender.HEARTBEAT, 99), b"")
            self.assertEqual(peer.receive()[0], line_sender.REFUSAL)

        for _ in range(600):
            peer.send_raw(pings)
            message()
        at_once = (24 << 10) + (256 << 10)  # too much; after a second 24 KiB are
        peer.send_raw(pings * (at_once * 7 // 10 // len(pings)))
        time.sleep(0.15)  # of the second that it may take
        for _ in range(30):
            message()
            time.sleep(0.05)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(self.malformed(self.store)["oversized"], 0)

    def test_before_a_key_is_proven(self):
        """A frame of the handshake that is as long as a block may be."""
        receiver = self.start_receiver(*self.keys())
        memory = Highest(receiver)
        for _ in range(20):
            stranger = Stranger((harness.HOST, self.ports.receiver))
            self.addCleanup(stranger.close)
            flood = Flood(stranger, bytes(MIB))  # what is longer than the frame breaks the format
            memory.until(lambda: not flood.is_alive(), "the end of the flood")
            self.assertTrue(flood.cut or stranger.is_shut_out(), "on a busy machine all may have gone before")
        self.assertLess(memory.most, 128 * MIB)
        self.assertEqual(receiver.stop(), 0)
        self.assertGreater(self.malformed(self.store)["oversized"], 0)

    def test_under_a_listed_key(self):
        """Whether more frames follow is sealed."""
        receiver = self.start_receiver(*self.keys())
        for size in (MIB, 30):
            memory = Highest(receiver)
            peer = SealedSender((harness.HOST, self.ports.receiver), self.folder / "daemon", self.folder / "receiver.public",
                                harness.PATIENCE)
            self.addCleanup(peer.close)
            peer.send(*line_sender.hello(98))
            self.assertEqual(peer.receive_kind(), line_sender.WELCOME)
            flood = Flood(Endless(peer, size), b"", most=1024 * MIB if size == MIB else 4 * MIB)
            memory.until(lambda: not flood.is_alive(), "the end of the flood")
            print(f"{size}: {memory.most / MIB:.0f} MiB,", end=" ", flush=True)
            self.assertEqual(flood.cut, size == MIB, "few bytes are no reason")
            self.assertLess(memory.most, self.planned(receiver) * 1.05)
            peer.close()
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(self.malformed(self.store)["oversized"], 1)

    def keys(self):
        for name in ("receiver", "daemon"):
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
        return "--secret-key", self.folder / "receiver.secret", "--allow", self.folder / "daemon.public"


@unittest.skipIf(harness.SANITIZED, "a sanitizer's own memory grows")
class ToTheDaemon(harness.SystemTest):
    def test_a_receiver_that_never_ends_a_message(self):
        liar = LineReceiver(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(liar.close)
        daemon = self.start_daemon()
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 91), {}
        for number in range(1, 11):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
        memory, before = Highest(daemon), daemon.memory()
        frames = {**KINDS, "large": bytes([MORE | line_sender.LONG]) + (60_000).to_bytes(8, "big") + bytes(60_000)}
        for kind, frame in frames.items():
            for _ in range(3):
                flood = Flood(liar.accept(), frame)
                memory.until(lambda: not flood.is_alive(), "the end of the flood")
                self.assertTrue(flood.cut, kind)
        planned = daemon.status()["memory_planned"]
        print(f"{planned / MIB:.0f} MiB planned, {before / MIB:.0f} MiB before, {memory.most / MIB:.0f} MiB at most", end=" ", flush=True)
        self.assertLess(memory.most, planned * 1.05)
        liar.close()
        receiver = self.start_receiver()
        daemon.wait_for_stored(len(sent))
        daemon.wait_to_say("more than a whole message has come")
        self.assertLess(len(daemon.said().splitlines()), 60)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)

    def test_at_the_border(self):
        """A frame of 64 KiB, and 256 KiB that are no whole message, from the receiver's greeting on."""
        liar = LineReceiver(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(liar.close)
        daemon = self.start_daemon()
        oversized = "more than a whole message has come"

        def frame(bytes_of_it):
            return bytes([MORE | line_sender.LONG]) + bytes_of_it.to_bytes(8, "big") + bytes(bytes_of_it)

        def is_cut(data, seconds):
            """Soon: after a second the daemon asks whether the peer is there, and 3 s later it hangs up on one that does not answer."""
            liar.accept()
            with contextlib.suppress(OSError):
                liar.send_raw(data)
            return liar.hangs_up_within(seconds)

        head = bytes([MORE | line_sender.LONG])
        self.assertFalse(is_cut(head + (64 << 10).to_bytes(8, "big"), 1))
        self.assertTrue(is_cut(head + ((64 << 10) + 1).to_bytes(8, "big"), 3))
        parts = frame(60_000) * 4
        rest = (256 << 10) - liar.greeted - len(parts)
        self.assertFalse(is_cut(parts + frame(rest - 9), 1))
        self.assertNotIn(oversized, daemon.said())
        self.assertTrue(is_cut(parts + frame(rest - 9 + 1), 3.5))
        daemon.wait_to_say(f"(262145 bytes are in no whole message): {oversized}")
        liar.close()
        receiver = self.start_receiver()
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)

    def test_after_what_breaks_its_protocol_it_connects_again(self):
        """ZeroMQ gives up an address at which a peer broke its protocol."""
        breaks = {"a frame that is too long": bytes([MORE | line_sender.LONG]) + MIB.to_bytes(8, "big"),
                  "a length beyond any": bytes([line_sender.LONG]) + b"\xff" * 8}
        liar = LineReceiver(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(liar.close)
        daemon = self.start_daemon()
        for data in breaks.values():
            liar.accept().send_raw(data)
        liar.close()
        with socket.create_server((harness.HOST, self.ports.receiver)) as other:  # a program that speaks something else
            other.settimeout(harness.PATIENCE)
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
                connection.settimeout(harness.PATIENCE)
                with contextlib.suppress(ConnectionError):
                    while connection.recv(4096):
                        pass
        self.start_receiver()
        harness.wait_until(lambda: "receiver_absent" not in daemon.status()["state"]["degraded"], "a connection with the receiver")
        self.stop_daemon(daemon)


if __name__ == "__main__":
    harness.main()
