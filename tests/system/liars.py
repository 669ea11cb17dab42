#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Receivers that are wrong: they claim blocks that they were never sent, break the protocol, or break off. The daemon lets nothing go for
it, says so, and an honest receiver gets everything."""
import contextlib
import socket
import struct
import threading

import harness
import l2raw
import level2
import line_sender
from line_receiver import LineReceiver
from line_sender import ACKNOWLEDGEMENT, COMMAND, GREETING, HELLO, LONG, MORE, WELCOME

EVENTS = 200
LITTLE_MEMORY = {"memory": "1 MiB", "block": "16 KiB"}


class Liar(threading.Thread):
    """Takes any number of connections; `answer(kind, sequence)` gives the (kind, sequence, body) of what is said to a message."""

    def __init__(self, port, answer):
        super().__init__(daemon=True)
        self.answer, self.heard, self.connections, self.over = answer, 0, [], False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((harness.HOST, port))
        self.listener.listen()
        self.start()

    def run(self):
        while not self.over:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(s)
            threading.Thread(target=self.talk, args=(s,), daemon=True).start()

    def talk(self, s):
        peer = line_sender.Peer(s)
        try:
            s.sendall(GREETING)
            peer._take(64)
            peer._frame()  # the other's READY
            ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"ROUTER"
            s.sendall(bytes([COMMAND, len(ready)]) + ready)
            while True:
                kind, session, sequence, _, _ = peer.receive()
                self.heard += 1
                self.reply(peer, session, self.answer(kind, sequence))
        except OSError:
            pass  # one of the two has gone

    def reply(self, peer, session, answers):
        for said, number, body in answers:
            peer.send(line_sender.header(said, session, number, 0xFFFFFFFF), body)

    def stop(self):
        self.over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.connections:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()


class Breaking(Liar):
    """Says each answer very often, in one go, and breaks off: the daemon is in the middle of a message."""

    def reply(self, peer, session, answers):
        data = b""
        for said, number, body in answers:
            head = line_sender.header(said, session, number, 0xFFFFFFFF)
            data += bytes([line_sender.MORE, len(head)]) + head + bytes([0, len(body)]) + body
        if data:
            peer.send_raw(data * 3000)
            peer.reset()


class Liars(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 151)
        self.sent = {(1, n): maker.fragments(1, n) for n in range(1, EVENTS + 1)}
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {1: [self.sent[1, n] for n in range(1, EVENTS + 1)]})

    def start(self):
        return self.start_daemon(spool={"use": "always"}, outbox=LITTLE_MEMORY)

    def fill(self):
        daemon = self.start()
        replay = self.start_tool("replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(replay.wait(), 0, replay.said())
        return daemon

    def assert_it_sees_through(self, daemon, liar):
        daemon.wait_for(lambda s: "receiver_wrong" in s["state"]["degraded"] and s["receiver"]["impossible_claims"] >= 3,
                        "the daemon to see that its receiver is wrong")
        status = daemon.status()
        self.assertEqual((status["events"]["forwarded"], status["spool"]["events"]), (0, EVENTS))
        liar.stop()
        daemon.wait_to_say("the receiver claims to have blocks up to")
        self.assertGreater(daemon.metrics()["koto_l3_impossible_claims_total"], 0)

    def assert_an_honest_receiver_gets_all(self, daemon):
        receiver = self.start_receiver()
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        self.assertNotIn("receiver_wrong", daemon.wait_for(lambda s: s["state"]["degraded"] == [], "no trouble")["state"]["degraded"])
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)

    def test_nothing_of_a_live_lane_is_let_go_for_a_claim(self):
        daemon = self.fill()
        liar = Liar(self.ports.receiver, lambda kind, n: [(WELCOME, 1 << 63, b"")] if kind == HELLO else [])
        self.assert_it_sees_through(daemon, liar)
        self.assert_an_honest_receiver_gets_all(daemon)

    def test_acknowledgements_of_what_was_not_sent(self):
        daemon = self.fill()

        def answer(kind, sequence):
            if kind == HELLO:
                return [(WELCOME, 0, b""), (ACKNOWLEDGEMENT, 1 << 40, b"")]
            return [(ACKNOWLEDGEMENT, 5000, b"")]

        liar = Liar(self.ports.receiver, answer)
        self.assert_it_sees_through(daemon, liar)
        self.assert_an_honest_receiver_gets_all(daemon)

    def test_after_what_breaks_the_protocol_the_daemon_connects_again(self):
        """ZeroMQ gives up an address at which a peer broke its protocol."""
        breaks = {"a frame that is too long": bytes([MORE | LONG]) + (1 << 20).to_bytes(8, "big"), "a length beyond any": bytes([LONG]) + b"\xff" * 8}
        wrong = LineReceiver(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(wrong.close)
        daemon = self.fill()
        for data in breaks.values():
            wrong.accept().send_raw(data)
        wrong.close()
        with socket.create_server((harness.HOST, self.ports.receiver)) as other:  # a program that speaks something else
            other.settimeout(harness.PATIENCE)
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
                connection.settimeout(harness.PATIENCE)
                with contextlib.suppress(ConnectionError):
                    while connection.recv(4096):
                        pass
        self.assert_an_honest_receiver_gets_all(daemon)

    def test_one_that_breaks_off_while_the_daemon_takes_its_messages(self):
        daemon = self.fill()
        liar = Breaking(self.ports.receiver, lambda kind, n: [(WELCOME, 0, b"")])
        harness.wait_until(lambda: len(liar.connections) > 60 or not daemon.running(), "60 connections", seconds=60)
        self.assertTrue(daemon.running(), daemon.said()[-1000:])
        liar.stop()
        self.assert_an_honest_receiver_gets_all(daemon)


if __name__ == "__main__":
    harness.main()
