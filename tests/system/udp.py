#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What independent electronics send over UDP comes out of the store byte for byte, and every count is exact."""
import signal
import time

import harness
import level2
import level2_sender


class UdpTest(harness.SystemTest):
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


if __name__ == "__main__":
    harness.main()
