#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 2 as docs/formats.md has it. What independent electronics send over UDP comes out of the store byte for byte, and every count is
exact; the daemon acknowledges a record only when it is safe; `koto-l3 replay` sends datagrams of the
page. Wrong records: tcp_receiver_test; records, loops and lost connections of replay: tests/tools."""
import select
import signal
import socket
import time
from collections import Counter

import harness
import level2
import level2_sender


class Udp(harness.SystemTest):
    def round_trip(self, spills, opaque=0.0, **config):
        """Sends [(spill, events)] from one maker each, so that a spill number that comes again has other events."""
        receiver = self.start_receiver()
        daemon = self.start_daemon(**config)
        sender, sent = self.udp_sender(daemon), {}
        for seed, (spill, events) in enumerate(spills):
            maker = level2.EventMaker(self.crates, seed, opaque)
            for number in range(1, events + 1):
                fragments = maker.fragments(spill, number)
                sent.setdefault((spill, number), []).append(fragments)
                sender.event(spill, number, fragments)
            sender.end(spill, events)
        self.assert_all_counted(daemon, spills, sender.sent)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        found, flags = {}, []
        for event in harness.store_reader.events_of(self.store):
            found.setdefault((event.spill, event.number), []).append(list(event.fragments.values()))
            flags.append(event.flags)
        self.assertTrue(found == sent, "not the bytes that were sent")
        self.assert_extracted({key: sum(all_of_them, []) for key, all_of_them in sent.items()})
        return flags

    def assert_all_counted(self, daemon, spills, datagrams):
        events, crates = sum(n for _, n in spills), len(self.crates)
        daemon.wait_for_stored(events)
        self.assertEqual(self.assert_metrics_conserved(daemon)['koto_l3_events_total{outcome="forwarded"}'], events)
        ledger = self.stop_daemon(daemon)
        self.assertEqual((ledger["run"], ledger["events"]["admitted"], ledger["events"]["forwarded"]), (7, events, events))
        f = ledger["fragments"]
        self.assertEqual((f["seen"], f["admitted"], f["incomplete"], f["late"], f["duplicate"]),
                         (events * crates, events * crates, 0, 0, 0))
        d = ledger["datagrams"]
        self.assertEqual((d["received"], d["data"], d["trailers"], d["end_of_spill"], d["duplicate"], d["late"]),
                         (datagrams, datagrams - (events + len(spills)) * crates, events * crates, len(spills) * crates, 0, 0))
        self.assertEqual(harness.nonzero(d["malformed"]), {})
        self.assertEqual([(s["spill"], s["admitted"], s["incomplete"], s["expected"]) for s in ledger["spills"]],
                         [(spill, n, 0, n) for spill, n in spills])

    def test_spill_numbers_that_come_around_again_and_boards_that_compressed_by_themselves(self):
        """512 spills later the same numbers are other events, and nobody takes them for repeats."""
        flags = self.round_trip([(5, 150), (200, 20), (400, 20), (510, 20), (511, 30), (0, 30), (1, 20), (5, 20)], opaque=0.1)
        self.assertEqual(set(flags), {0, 4})
        self.assertGreater(flags.count(4), 50)

    def test_what_waits_in_the_sockets_while_the_daemon_is_frozen(self):
        """Crate 2 is behind the others. What it sends meanwhile comes in time, though the daemon reads it only afterwards."""
        receiver, daemon = self.start_receiver(), self.start_daemon(building={"event_time_limit": "2 s"})
        sent, sender = self.make_events(40), self.udp_sender(daemon)
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments, without=(2,))
        sender.hold()
        daemon.signal(signal.SIGSTOP)
        late = level2_sender.UdpSender(self.crates, harness.HOST, self.ports.udp, harness.UDP_PORTS, self.chunk_bytes)
        for (spill, number), fragments in sent.items():
            late.event(spill, number, fragments, without=(0, 1))
        late.close()
        time.sleep(2.5)
        daemon.signal(signal.SIGCONT)
        sender.end(1, 40)
        daemon.wait_for_stored(40)
        ledger = self.end_and_compare(daemon, receiver, sent)
        self.assertEqual([(s["admitted"], s["incomplete"]) for s in ledger["spills"]], [(40, 0)])

    def test_the_strong_codec(self):
        flags = self.round_trip([(3, 12)], opaque=0.1, output={"codec": "strong"})
        self.assertEqual({f & 2 for f in flags}, {0})

    def test_the_whole_readout(self):
        self.crate_lines, self.crates, self.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), 8000
        self.round_trip([(1, 8)], frames={"events": 16})


class Stream(harness.SystemTest):
    def test_nothing_is_acknowledged_before_it_is_stored(self):
        """Without a receiver, which comes later, and while it stands still; also not what a sender sends again when it comes back."""
        daemon, maker, sent = self.start_daemon(spool={"folder": ""}), level2.EventMaker(self.crates, 21), {}  # a disk would make them safe
        with self.stream_sender(run=7).connect() as sender:
            def event(number):
                sent[9, number] = maker.fragments(9, number)
                return sender.event(9, number, sent[9, number])
            sender.begin(9)
            first = event(1)
            for number in range(2, 41):
                last = event(number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 40, "the daemon to take all")
            self.assertLess(sender.acknowledged, first)
            receiver = self.start_receiver()
            sender.wait_for_acknowledgement(last)
            receiver.signal(signal.SIGSTOP)
            for number in range(41, 81):
                event(number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 80, "the daemon to take all")
            sender.reconnect()  # the events are known, but not safe: duplicates
            self.assertEqual(sender.acknowledged, last)
            for number in range(81, 101):
                event(number)
            end = sender.end(9, 100)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 100, "the daemon to take all")
            self.assertFalse(sender.listen(1, lambda: sender.acknowledged > last), "it was acknowledged before it was stored")
            self.assertEqual(daemon.status()["events"]["in_flight"], 60)
            receiver.signal(signal.SIGCONT)
            sender.wait_for_acknowledgement(end)
        ledger = self.end_and_compare(daemon, receiver, sent)
        self.assertEqual(ledger["fragments"]["duplicate"], 40 * 3)
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (100, 100))


class Replay(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.sent, self.expected = {}, Counter()
        for spill, events in ((0, 20), (511, 30)):
            self.sent |= self.make_events(events, spill)
            for place in range(len(self.crates)):
                for number in range(1, events + 1):
                    self.expected.update(level2_sender.datagrams(self.crates, spill, number, place, self.sent[spill, number][place], self.chunk_bytes))
                self.expected.update(level2_sender.end_of_spill(self.crates, spill, place, events))

    def receive(self, *options):
        """The datagrams that came to each port."""
        sockets = [self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(harness.UDP_PORTS)]
        for i, s in enumerate(sockets):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind((harness.HOST, self.ports.udp + i))
        replay = self.start_replay(self.write_events(self.sent), "--chunk", self.chunk_bytes, *options, to="udp", rate="500ev/s")
        by_port = [[] for _ in sockets]
        readable = sockets
        while readable or replay.running():
            readable = select.select(sockets, [], [], 0.1)[0]
            for s in readable:
                by_port[sockets.index(s)].append(s.recv(1 << 16))
        self.assertEqual(replay.wait(), 0, replay.said())
        return by_port

    def test_datagrams_are_those_of_the_page(self):
        by_port = self.receive()
        # They go round the ports: that gives the order in which they were sent.
        came = [by_port[i % 8][i // 8] for i in range(sum(map(len, by_port)))]
        self.assertEqual(Counter(came), self.expected)
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

    def test_several_threads_send_the_same_datagrams(self):
        self.assertEqual(Counter(sum(self.receive("--threads", "3"), [])), self.expected)


if __name__ == "__main__":
    harness.main()
