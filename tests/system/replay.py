#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `koto-l3 replay` sends, against an independent receiver of datagrams and of the record stream, and what a daemon says of events
that come again. Lost connections, refusals and damaged files are tested in tests/tools."""
import select
import socket
import struct
import time
from collections import Counter

import harness
import l2raw
import level2_sender
import stream_sender
from stream_sender import ACKNOWLEDGEMENT, HELLO

SPILLS = {511: 30, 0: 20}


def renumbered(fragment, crate, spill):
    """The fragment of full boards with another spill number in each board header."""
    changed = bytearray(fragment)
    for board in range(crate.boards):
        at = 4 + 2072 * board + 8
        slot = changed[at + 1] & 31
        struct.pack_into(">H", changed, at, 0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot)
    return bytes(changed)


class Replay(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.sent = self.make(101)
        self.file = self.write("sent.l2raw", self.sent)

    def make(self, seed):
        return {key: fragments for spill, events in SPILLS.items() for key, fragments in self.make_events(events, spill, seed).items()}

    def write(self, name, events):
        file = self.folder / name
        l2raw.write(file, self.crates, {s: [events[s, n] for n in range(1, count + 1)] for s, count in SPILLS.items()})
        return file

    def replay(self, to, *more):
        return self.start_tool("replay", self.file, "--to", to, *more)


class Udp(Replay):
    def receive(self, ports, *more):
        """All datagrams, port by port."""
        sockets = []
        for i in range(ports):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.addCleanup(s.close)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind((harness.HOST, self.ports.udp + i))
            sockets.append(s)
        replay = self.replay(f"udp://{harness.HOST}:{self.ports.udp}+{ports}", "--chunk", self.chunk_bytes, *more)
        came = [[] for _ in sockets]
        end = time.monotonic() + harness.PATIENCE
        while True:
            ended = not replay.running()
            readable = select.select(sockets, [], [], 0.1)[0]
            for s in readable:
                came[sockets.index(s)].append(s.recv(1 << 16))
            if ended and not readable:
                break
            self.assertLess(time.monotonic(), end)
        self.assertEqual(replay.wait(), 0, replay.said())
        return came

    def expected(self, spills):
        all_of_them = []
        for spill, events in spills.items():
            for number in range(1, events + 1):
                for place, f in enumerate(self.sent[spill, number]):
                    all_of_them += level2_sender.datagrams(self.crates, spill, number, place, f, self.chunk_bytes)
            for place in range(len(self.crates)):
                all_of_them += level2_sender.end_of_spill(self.crates, spill, place, events)
        return all_of_them

    def test_datagrams_are_those_of_the_page(self):
        by_port = self.receive(8, "--rate", "500ev/s")
        # They go round the ports: that gives the order in which they were sent.
        came = [by_port[i % 8][i // 8] for i in range(sum(map(len, by_port)))]
        self.assertEqual(Counter(came), Counter(self.expected(SPILLS)))
        # A fragment's chunks come in order and its trailer last; a spill's end comes after all of it.
        ends, at = 0, {}
        for datagram in came:
            name, chunk, mark = level2_sender.HEADER.unpack_from(datagram)
            if len(datagram) == 12 and mark >> 17:
                ends += 1
                at = {} if ends % len(self.crates) == 0 else at
                continue
            self.assertEqual(ends % len(self.crates), 0)
            self.assertEqual(chunk, at.get(name, 0))
            at[name] = chunk + 1

    def test_three_ports_and_the_files_own_times(self):
        self.assertEqual(Counter(sum(self.receive(3), [])), Counter(self.expected(SPILLS)))


class Tcp(Replay):
    def setUp(self):
        super().setUp()
        self.listener = socket.socket()
        self.addCleanup(self.listener.close)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((harness.HOST, self.ports.tcp))
        self.listener.listen()
        self.listener.settimeout(harness.PATIENCE)
        self.to = f"tcp://{harness.HOST}:{self.ports.tcp}"

    def accept(self):
        self.connection, _ = self.listener.accept()
        self.addCleanup(self.connection.close)
        self.connection.settimeout(harness.PATIENCE)
        self.input = b""

    def records(self, count):
        """The next records of this connection."""
        taken = []
        while len(taken) < count:
            try:
                record, at = l2raw.take(memoryview(self.input))
                self.input = self.input[at:]
                taken.append(record)
            except IndexError:
                data = self.connection.recv(1 << 16)
                self.assertTrue(data, f"replay closed after {len(taken)} of {count} records")
                self.input += data
        return taken

    def say(self, kind, body):
        self.connection.sendall(stream_sender.record(kind, 0, 0, body))

    def acknowledge(self, sequence):
        self.say(ACKNOWLEDGEMENT, struct.pack("<QQ", sequence, 0))

    def assert_are_the_file(self, records):
        """Without the hello."""
        expected = [r for r in l2raw.read(self.file) if r[0] != HELLO]
        self.assertEqual([r[:2] + r[3:] for r in records], [r[:2] + r[3:] for r in expected])

    def test_the_stream_is_the_file_and_replay_ends_when_all_is_acknowledged(self):
        replay = self.replay(self.to, "--rate", "unlimited")
        self.accept()
        records = self.records(1 + sum(SPILLS.values()) + 2 * len(SPILLS))
        self.assertEqual([r[2] for r in records], list(range(1, len(records) + 1)))
        self.assertEqual(records[0][0], HELLO)
        self.assertEqual(records[0][3][4:], stream_sender.hello_body(7, self.crates)[4:])
        self.assert_are_the_file(records[1:])
        self.acknowledge(len(records) - 1)
        with self.assertRaises(TimeoutError):
            self.connection.settimeout(1)
            self.connection.recv(1)
        self.assertTrue(replay.running(), "it ended before the last record was acknowledged")
        self.acknowledge(len(records))
        self.assertEqual(replay.wait(), 0, replay.said())


class Loops(Replay):
    def test_verify_knows_the_events_of_every_loop(self):
        self.start_receiver()
        daemon = self.start_daemon()
        ledger = self.folder / "replay-ledger.json"
        self.run_replay(self.file, "--loop", "3", "--ledger", ledger)
        daemon.wait_for_stored(3 * len(self.sent))
        self.stop_daemon(daemon)
        expected = dict(self.sent)  # and the same under the numbers that follow 511 and 0
        for loop in (1, 2):
            for (spill, number), fragments in self.sent.items():
                other = (spill + loop * len(SPILLS)) % 512
                expected[other, number] = [renumbered(f, c, other) for f, c in zip(fragments, self.crates)]
        self.assert_stored(expected)
        for loops, exit_code in (("3", 0), ("2", 1), ("1", 1), ("4", 1)):
            code, said = self.run_tool("verify", self.file, self.store, "--loop", loops, "--ledger", ledger,
                                       "--ledger", daemon.ledger_file)
            self.assertEqual(code, exit_code, said)


class Again(Replay):
    """Numbers that come again, to a daemon that has taken the file."""

    def setUp(self):
        super().setUp()
        self.start_receiver()
        self.daemon = self.start_daemon()
        self.everything = len(self.sent) * len(self.crates)
        self.others = self.make(102)
        self.other = self.write("other.l2raw", self.others)

    def changed(self, byte):
        """The file with one bit changed in the second fragment of event 17 of spill 511."""
        fragments = list(self.sent[511, 17])
        fragments[1] = fragments[1][:byte] + bytes([fragments[1][byte] ^ 1]) + fragments[1][byte + 1:]
        return self.write(f"changed-{byte}.l2raw", {**self.sent, (511, 17): fragments})

    def send(self, file, known, refused=None):
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "unlimited")
        self.assertEqual(code, 1 if refused else 0, said)
        if known:
            self.assertRegex(said, rf"already known +{known}\b")
        else:
            self.assertNotIn("already known", said)
        if refused:
            self.assertIn(f"event {refused} of spill 511 was received before with different bytes", said)
            self.assertIn("send other data under another run number (run.number)", said)
            self.assertRegex(said, rf"events acknowledged +{refused - 1}\b")

    def test_over_tcp_repeats_are_known_and_other_data_are_refused(self):
        second_board = 4 + 2072
        changes = {"time stamp": 4 + 7, "trigger bits": second_board + 1, "first samples": 4 + 13, "last samples": second_board - 13,
                   "footer": second_board - 1}
        self.send(self.file, known=0)
        self.daemon.wait_for_stored(len(self.sent))
        self.send(self.file, known=len(self.sent))
        for what, byte in changes.items():
            with self.subTest(what):
                self.send(self.changed(byte), known=16, refused=17)
        self.send(self.changed(4 + 1000), known=len(self.sent))  # between the ends of a board no change is seen
        self.send(self.other, known=0, refused=1)
        self.daemon.wait_for(lambda s: s["refused"]["stream_conflict"] == len(changes) + 1, "each conflict to be counted")
        self.assert_metrics_conserved(self.daemon)
        ledger = self.stop_daemon(self.daemon)
        self.assert_stored(self.sent)
        self.assertEqual(ledger["fragments"]["duplicate"], 2 * self.everything + len(changes) * 16 * len(self.crates))

    def test_over_udp_the_first_file_stays_and_repeats_are_late(self):
        for file, duplicates in ((self.file, 0), (self.file, self.everything), (self.other, self.everything)):
            code, said = self.run_tool("replay", file, "--to", f"udp://{harness.HOST}:{self.ports.udp}+{harness.UDP_PORTS}",
                                       "--chunk", self.chunk_bytes, "--rate", "200ev/s")
            self.assertEqual(code, 0, said)
            self.daemon.wait_for_stored(len(self.sent))
            self.daemon.wait_for(lambda s, n=duplicates: s["fragments"]["duplicate"] == n, "each fragment to be counted")
        ledger = self.stop_daemon(self.daemon)
        self.assert_stored(self.sent)
        self.assertEqual(ledger["fragments"]["seen"], 2 * self.everything)

    def test_two_senders_with_the_numbers_of_one_spill_at_once(self):
        to = f"tcp://{harness.HOST}:{self.ports.tcp}"
        senders = [self.start_tool("replay", file, "--to", to, "--rate", "200ev/s") for file in (self.file, self.other)]
        codes = [s.wait() for s in senders]
        self.assertEqual(sorted(codes), [0, 1], "the second one to send event 1 is refused")
        self.stop_daemon(self.daemon)
        self.assert_stored((self.sent, self.others)[codes.index(0)])


if __name__ == "__main__":
    harness.main()
