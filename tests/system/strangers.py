#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers on every port: they are refused and counted, they take neither memory nor places for long, and the data goes on."""
import json
import random
import signal
import socket
import struct
import threading
import time

import harness
import level2
import line_sender
from line_sender import LineSender


def an_event(spill, number) -> bytes:
    """A packed event of section 7 without fragments."""
    return struct.pack("<IIIHHIIII", 32, spill, number, 1, 0, 0, 0, 0, 0)


class OnTheDaemon(harness.SystemTest):
    def garbage_on(self, port, rng, connections=40):
        """Connections that say garbage of random length and go, stay, or are reset."""
        for _ in range(connections):
            s = socket.create_connection((harness.HOST, port), timeout=harness.PATIENCE)
            self.addCleanup(s.close)
            try:
                s.sendall(rng.randbytes(rng.choice([0, 1, rng.randint(1, 64), rng.randint(1, 100_000)])))
            except OSError:
                pass  # it has been shown the door
            end = rng.randrange(3)
            if end == 0:
                continue
            if end == 1:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()

    def test_garbage_on_the_tcp_and_monitor_ports(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        rng, maker = random.Random(31), level2.EventMaker(self.crates, 31)
        sender = self.stream_sender(run=7).connect()
        sender.wait_for_acknowledgement(sender.begin(1))
        memory, sent = daemon.memory(), {}
        for number in range(1, 61):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
            if number % 10 == 0:
                self.garbage_on(self.ports.tcp, rng)
                self.garbage_on(self.ports.monitor, rng)
        sender.wait_for_acknowledgement(sender.end(1, 60))
        self.assertEqual(daemon.get("/healthz")[0], 200)
        status = daemon.wait_for_stored(60)
        self.assertEqual((status["events"]["admitted"], status["fragments"]["admitted"]), (60, 180))
        self.assertLess(daemon.memory(), memory + (100 << 20 if harness.SANITIZED else 16 << 20))
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)

    def test_a_flood_of_garbage_datagrams(self):
        """As many as can be sent: what has no room is counted by the kernel, the rest by reason, and the stream goes on."""
        receiver, daemon = self.start_receiver(), self.start_daemon()
        stop, flooded = threading.Event(), [0] * harness.UDP_PORTS

        def flood():
            rng = random.Random(34)
            garbage = [rng.randbytes(rng.randint(0, 60)) for _ in range(500)]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                while not stop.is_set():
                    for i, datagram in enumerate(garbage):
                        s.sendto(datagram, (harness.HOST, self.ports.udp + i % harness.UDP_PORTS))
                        flooded[i % harness.UDP_PORTS] += 1

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            maker = level2.EventMaker(self.crates, 35)
            sender = self.stream_sender(run=7).connect()
            sender.begin(1)
            sent = {(1, n): maker.fragments(1, n) for n in range(1, 101)}
            for (spill, number), fragments in sent.items():
                sender.event(spill, number, fragments)
            sender.wait_for_acknowledgement(sender.end(1, 100))
        finally:
            stop.set()
            thread.join()
        udp = self.udp_sender(daemon)
        udp.hold()
        udp.send([b""] * harness.UDP_PORTS)  # with the next datagram of each port the kernel says what it dropped
        udp.hold()
        total = sum(flooded) + harness.UDP_PORTS
        status = daemon.wait_for(lambda s: sum(l["datagrams"] + l["kernel_drops"] for l in s["links"] if l["link"] != "tcp") >= total,
                                 f"{total} datagrams to be counted")
        self.assertEqual(status["events"]["forwarded"], 100)
        self.assertEqual(daemon.stop(), 0)
        d = daemon.ledger()["datagrams"]
        records, ends = 103, 1  # of the stream
        self.assertEqual(d["received"] - records + d["kernel_drops"], total)
        self.assertEqual(sum(d["malformed"].values()) + d["data"] + d["trailers"] + d["end_of_spill"] - ends + d["late"],
                         d["received"] - records, d)
        self.assertLess(len(daemon.said().splitlines()), 60)
        receiver.stop()
        self.assert_stored(sent)

    def test_half_open_connections_take_no_place_for_ever_and_do_not_hold_up_the_end(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(tcp={"max_connections": 8})
        silent = [socket.create_connection((harness.HOST, self.ports.tcp)) for _ in range(4)]
        silent += [socket.create_connection((harness.HOST, self.ports.monitor)) for _ in range(50)]
        maker = level2.EventMaker(self.crates, 32)
        sender = self.stream_sender(run=7).connect()
        sender.begin(1)
        sent = {(1, n): maker.fragments(1, n) for n in range(1, 21)}
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments)
        sender.wait_for_acknowledgement(sender.end(1, 20))
        # A peer that never reads what the daemon says, and one that stopped within a record.
        stuck = self.stream_sender(run=7).connect()
        stuck.begin(2)
        stuck.send_raw(line_sender.MORE.to_bytes(1, "little"))
        status, page = daemon.get("/status")
        self.assertEqual(status, 200)
        start = time.monotonic()
        self.stop_daemon(daemon)
        self.assertLess(time.monotonic() - start, 10 + harness.PATIENCE / 2)
        for s in silent:
            s.close()
        receiver.stop()
        self.assert_stored(sent)

    def test_monitor_requests_that_are_not_for_it(self):
        daemon = self.start_daemon()
        for request, answer in ((b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
                                (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"405"),
                                (b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n", None),
                                (b"\x16\x03\x01\x02\x00" + bytes(200), None)):
            with socket.create_connection((harness.HOST, self.ports.monitor), timeout=harness.PATIENCE) as s:
                said = b""
                try:
                    s.sendall(request)
                    said = s.recv(1 << 16)
                except ConnectionError:
                    pass
                if answer:
                    self.assertIn(answer, said.split(b"\r\n")[0])
                else:
                    self.assertNotIn(b"200", said.split(b"\r\n")[0])
        self.assertEqual(daemon.get("/healthz")[0], 200)


class OnTheReceiver(harness.SystemTest):
    def connect(self):
        peer = LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE)
        self.addCleanup(peer.close)
        return peer

    def test_garbage_of_random_lengths(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        rng, maker = random.Random(33), level2.EventMaker(self.crates, 33)
        udp = self.udp_sender(daemon)
        sent = {}
        for number in range(1, 61):
            sent[1, number] = maker.fragments(1, number)
            udp.event(1, number, sent[1, number])
            # What is not ZeroMQ at all, and what is but is no message of the line.
            with socket.create_connection((harness.HOST, self.ports.receiver)) as s:
                s.sendall(rng.randbytes(rng.randint(0, 5000)))
            peer = self.connect()
            session = rng.getrandbits(64)
            peer.send(rng.randbytes(rng.randint(0, 100)))
            peer.send(rng.randbytes(32), rng.randbytes(rng.randint(0, 5000)))
            peer.send(*[rng.randbytes(rng.randint(0, 40)) for _ in range(rng.randint(1, 9))])
            peer.send(line_sender.header(line_sender.BLOCK, session, 1, crc=1), b"")
            peer.send(line_sender.header(line_sender.BLOCK, session, 1, version=9), b"")
            peer.send(line_sender.header(99, session), b"")
            if number % 2:
                peer.close()
        udp.end(1, 60)
        daemon.wait_for_stored(60)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)

    def send_ten(self, daemon, seed):
        """Ten events of spill 1 over UDP; returns them when they are stored."""
        maker, sender = level2.EventMaker(self.crates, seed), self.udp_sender(daemon)
        sent = {(1, n): maker.fragments(1, n) for n in range(1, 11)}
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments)
        sender.end(1, 10)
        daemon.wait_for_stored(10)
        return sent

    def end_and_compare(self, daemon, receiver, sent):
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)

    def test_connections_where_there_are_few_descriptors(self):
        """ZeroMQ spins where accept() finds none: the receiver raises its soft limit."""
        receiver = self.keep(harness.Program(
            ["prlimit", "--nofile=128:2048", harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}",
             "--out", self.store], self.folder / "few.log"))
        receiver.wait_to_say("listening")
        strangers = [socket.create_connection((harness.HOST, self.ports.receiver)) for _ in range(700)]
        for s in strangers:
            self.addCleanup(s.close)
        daemon = self.start_daemon()
        sent = self.send_ten(daemon, 37)
        self.end_and_compare(daemon, receiver, sent)
        self.assertNotIn("Too many open files", receiver.said())

    def test_messages_that_wait_when_their_connection_is_reset(self):
        """They stay in the library until the receiver reads them, which is suspended."""
        receiver = self.start_receiver()
        peer = LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE)
        receiver.signal(signal.SIGSTOP)
        peer.send_raw((bytes([line_sender.MORE, 1]) + b"x" + bytes([0, 1]) + b"y") * 400)
        peer.reset()
        receiver.signal(signal.SIGCONT)
        time.sleep(2)  # ZeroMQ's heartbeats come each second
        self.assertTrue(receiver.running(), receiver.said())
        daemon = self.start_daemon()
        sent = self.send_ten(daemon, 36)
        self.end_and_compare(daemon, receiver, sent)

    def test_an_independent_daemon(self):
        """Sections 6 and 8 from the other end: hello, blocks, wrong blocks, repeats, gaps, heartbeat, goodbye."""
        receiver = self.start_receiver()
        peer, session = self.connect(), 0x1234567890ABCDEF

        def say(kind, sequence=0, body=b""):
            peer.send(line_sender.header(kind, session, sequence), body)

        def block(sequence, events=1, **wrong):
            payload = b"".join(an_event(3, 10 * sequence + i) for i in range(events))
            return line_sender.block(session, sequence, payload, events, **wrong)

        say(line_sender.HEARTBEAT)
        kind, its_session, _, _, body = peer.receive()
        self.assertEqual((kind, its_session, body), (line_sender.REFUSAL, session, b""))

        peer.send(*line_sender.hello(session))
        kind, its_session, stored, credit, _ = peer.receive()
        self.assertEqual((kind, its_session, stored), (line_sender.WELCOME, session, 0))
        self.assertGreater(credit, 0)

        for sequence in (1, 2, 3):
            say(line_sender.BLOCK, sequence, block(sequence))
            self.assertEqual(peer.receive()[:3], (line_sender.ACKNOWLEDGEMENT, session, sequence))
        for what, sequence, body in (("a repeat", 2, block(2)), ("a gap", 5, block(5)),
                                     ("a wrong payload checksum", 4, block(4, payload_crc=1)),
                                     ("a flipped bit", 4, block(4)[:70] + b"\xff" + block(4)[71:]),
                                     ("a block of another number", 4, block(5)),
                                     ("a cut block", 4, block(4)[:80]), ("no block", 4, b""),
                                     ("a payload longer than it says", 4, block(4) + bytes(8))):
            with self.subTest(what):
                say(line_sender.BLOCK, sequence, body)
                self.assertEqual(peer.receive()[:3], (line_sender.ACKNOWLEDGEMENT, session, 3))
        say(line_sender.HEARTBEAT)
        self.assertEqual(peer.receive()[:3], (line_sender.ACKNOWLEDGEMENT, session, 3))

        # The line breaks; the session goes on over another connection.
        peer.close()
        peer = self.connect()
        peer.send(*line_sender.hello(session, first=2))
        self.assertEqual(peer.receive()[:3], (line_sender.WELCOME, session, 3))
        say(line_sender.BLOCK, 4, block(4, events=3))
        self.assertEqual(peer.receive()[:3], (line_sender.ACKNOWLEDGEMENT, session, 4))
        say(line_sender.GOODBYE, 4)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(set(self.stored()), {(3, 10), (3, 20), (3, 30), (3, 40), (3, 41), (3, 42)})

    def test_its_ledger_is_written_at_a_goodbye(self):
        """Also while other daemons go on: the blocks of the second one keep the receiver from ever being idle."""
        receiver, ledger = self.start_receiver(), self.store / "ledger.json"

        def store(peer, session, sequence):
            payload = an_event(session, sequence)
            peer.send(line_sender.header(line_sender.BLOCK, session, sequence), line_sender.block(session, sequence, payload, 1))
            self.assertEqual(peer.receive()[:3], (line_sender.ACKNOWLEDGEMENT, session, sequence))

        sequences = {5: 0, 6: 0}
        peers = {}
        for session in sequences:
            peers[session] = self.connect()
            peers[session].send(*line_sender.hello(session))
            self.assertEqual(peers[session].receive()[0], line_sender.WELCOME)

        def go_on(session):
            sequences[session] += 1
            store(peers[session], session, sequences[session])
            return True

        for _ in range(3):
            go_on(5)
        go_on(6)
        ledger.unlink(missing_ok=True)  # of the time before the first block
        peers[5].send(line_sender.header(line_sender.GOODBYE, 5, 3), b"")
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
