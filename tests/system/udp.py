#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What independent electronics send over UDP comes out of the store byte for byte, and every count is exact."""
import random

import harness
import level2
import level2_sender


class UdpTest(harness.SystemTest):
    def send_spills(self, sender, maker, spills):
        """{(spill, number): fragments} after sending {spill: events}."""
        sent = {}
        for spill, events in spills.items():
            for number in range(1, events + 1):
                sent[spill, number] = maker.fragments(spill, number)
                sender.event(spill, number, sent[spill, number])
            sender.end(spill, events)
        return sent

    def assert_all_counted(self, daemon, sent, spills, datagrams):
        events, crates = len(sent), len(self.crates)
        status = daemon.wait_for_stored(events)
        self.assertEqual(status["fragments"]["in_flight"], 0)
        m = self.assert_metrics_conserved(daemon)
        self.assertEqual(m['koto_l3_events_total{outcome="forwarded"}'], events)
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["run"], 7)
        self.assertEqual(ledger["events"]["admitted"], events)
        self.assertEqual(ledger["events"]["forwarded"], events)
        f = ledger["fragments"]
        self.assertEqual((f["seen"], f["admitted"], f["incomplete"], f["late"], f["duplicate"]),
                         (events * crates, events * crates, 0, 0, 0))
        d = ledger["datagrams"]
        self.assertEqual((d["received"], d["trailers"], d["end_of_spill"], d["duplicate"], d["late"]),
                         (datagrams, events * crates, len(spills) * crates, 0, 0))
        self.assertEqual(d["data"], datagrams - (events + len(spills)) * crates)
        self.assertEqual(harness.nonzero(d["malformed"]), {})
        self.assertEqual([(s["spill"], s["admitted"], s["incomplete"], s["expected"]) for s in ledger["spills"]],
                         [(spill, events, 0, events) for spill, events in spills.items()])

    def round_trip(self, maker, spills, **config):
        receiver = self.start_receiver()
        daemon = self.start_daemon(**config)
        sender = self.udp_sender(daemon)
        sent = self.send_spills(sender, maker, spills)
        self.assert_all_counted(daemon, sent, spills, sender.sent)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        found = self.assert_stored(sent)
        self.assert_extracted(sent)
        return found

    def test_every_fragment_comes_back(self):
        found = self.round_trip(level2.EventMaker(self.crates, 1), {3: 150, 4: 100})
        self.assertEqual({e.flags for e in found.values()}, {0})

    def test_spill_numbers_wrap(self):
        self.round_trip(level2.EventMaker(self.crates, 2), {510: 20, 511: 30, 0: 30, 1: 20})

    def test_boards_that_compressed_by_themselves(self):
        found = self.round_trip(level2.EventMaker(self.crates, 3, opaque=0.3), {9: 100})
        opaque = [e for e in found.values() if e.flags & 4]
        self.assertGreater(len(opaque), 50)
        self.assertEqual({e.flags for e in found.values()}, {0, 4})

    def test_the_strong_codec(self):
        found = self.round_trip(level2.EventMaker(self.crates, 5, opaque=0.1), {3: 12}, output={"codec": "strong"})
        self.assertEqual({e.flags & 2 for e in found.values()}, {0})

    def test_the_whole_readout(self):
        self.crate_lines, self.crates, self.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), 8000
        self.round_trip(level2.EventMaker(self.crates, 4), {1: 24}, frames={"events": 16})

    def test_events_of_many_chunks_in_any_order(self):
        """Chunks of one event in any order, events interleaved, two copies of everything."""
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender = self.udp_sender(daemon)
        maker, rng = level2.EventMaker(self.crates, 5), random.Random(5)
        sent, trailers = {}, 3 * 100
        for first in range(1, 101, 5):
            burst = []
            for number in range(first, first + 5):
                sent[2, number] = maker.fragments(2, number)
                for place, fragment in enumerate(sent[2, number]):
                    burst += level2_sender.datagrams(self.crates, 2, number, place, fragment, self.chunk_bytes)
            rng.shuffle(burst)
            sender.send(burst)
            sender.hold()
        sender.end(2, 100)
        daemon.wait_for_stored(100)
        # A second time, all too late.
        for number in range(1, 101):
            sender.event(2, number, sent[2, number])
        sender.hold()
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["events"]["forwarded"], 100)
        f = ledger["fragments"]
        self.assertEqual((f["seen"], f["admitted"], f["duplicate"], f["late"]), (600, 300, 300, 0))
        d = ledger["datagrams"]
        self.assertEqual(d["data"], sender.sent - 2 * trailers - len(self.crates))
        receiver.stop()
        self.assert_stored(sent)

    def test_spill_numbers_that_come_around_again(self):
        """512 spills later the same numbers are other events, and nobody takes them for repeats."""
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, sent = self.udp_sender(daemon), {}
        for turn, spill in enumerate((5, 200, 400, 5, 6, 200)):
            maker = level2.EventMaker(self.crates, 1000 + turn)
            for number in range(1, 21):
                fragments = maker.fragments(spill, number)
                sent.setdefault((spill, number), []).append(fragments)
                sender.event(spill, number, fragments)
            sender.end(spill, 20)
        daemon.wait_for_stored(120)
        ledger = self.stop_daemon(daemon)
        self.assertEqual([s["spill"] for s in ledger["spills"]], [5, 200, 400, 5, 6, 200])
        receiver.stop()
        stored = {}
        for event in harness.store_reader.events_of(self.store):
            stored.setdefault((event.spill, event.number), []).append(list(event.fragments.values()))
        self.assertEqual(stored, sent)
        self.assert_extracted({key: sum(all_of_them, []) for key, all_of_them in sent.items()})

    def test_stray_trailers_between_spills(self):
        """Two trailers of a spill that is not due: the spills on both sides of it, and itself, come whole."""
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 8)
        sent = self.send_spills(sender, maker, {3: 50})
        daemon.wait_for_stored(50)
        strays = [level2_sender.datagrams(self.crates, 5, number, place, maker.fragments(5, number)[place],
                                          self.chunk_bytes)[-1] for number, place in ((7, 0), (9, 1))]
        sender.send(strays)
        sender.hold()
        for spill, events in {4: 200, 5: 50}.items():
            sent |= self.send_spills(sender, maker, {spill: events})
            daemon.wait_for_stored(len(sent))
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["events"]["admitted"], 300)
        self.assertEqual(harness.nonzero(ledger["datagrams"]["malformed"]), {})
        fragments = ledger["fragments"]
        self.assertEqual((fragments["seen"], fragments["incomplete"] + fragments["late"]),
                         (300 * len(self.crates) + 2, 2))
        self.assertTrue(ledger["balanced"])
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assert_stored(sent)

    def test_two_daemons_and_one_receiver(self):
        receiver = self.start_receiver()
        daemons, senders, sent = [], [], {}
        for node in (0, 1):
            self.ports, receiver_port = harness.Ports(), self.ports.receiver
            self.ports.receiver = receiver_port
            ledger = str(self.folder / f"ledger-{node}.json")
            daemons.append(self.start_daemon(run={"number": 7, "node": node, "ledger": ledger}))
            daemons[-1].ledger_file = self.folder / f"ledger-{node}.json"
            senders.append(self.udp_sender(daemons[-1]))
        maker = level2.EventMaker(self.crates, 6)
        for number in range(1, 101):  # the electronics' round robin is over spills here
            for node in (0, 1):
                sent[node, number] = maker.fragments(node, number)
                senders[node].event(node, number, sent[node, number])
        for node in (0, 1):
            senders[node].end(node, 100)
            daemons[node].wait_for_stored(100)
            self.assertEqual(self.stop_daemon(daemons[node])["events"]["forwarded"], 100)
        receiver.stop()
        self.assert_stored(sent)
        blocks = list(harness.store_reader.read_store(self.store))
        self.assertEqual(len({b.session for b in blocks}), 2)
        self.assertEqual({(b.node, e.spill) for b in blocks for e in b.events}, {(0, 0), (1, 1)})


if __name__ == "__main__":
    harness.main()
