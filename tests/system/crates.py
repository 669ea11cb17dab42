#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a crate does wrong is counted for that crate, in /status, in the metrics and in the ledger, and not for the others. Which fault a
crate is said to have, and when it ends, are rows of headlines.py and tests of tests/daemon/monitor/crate_watch_test.cpp."""
import time

import harness
import level2
import level2_sender

EVENTS = 40  # of each spill, and as many after a crate has its fault


class CratesTest(harness.SystemTest):
    crate_lines = ["0-6: 1 x 125 MHz"]
    crates = level2.readout(crate_lines)
    EVENT = level2.EventMaker(crates, 8).fragments(1, 2)  # one of which all boards have the same time stamp

    def event(self, spill, number):
        return [level2.renamed(f, 1, spill, number) for f in self.EVENT]

    def fragment(self, bad, spill, number):
        return level2_sender.datagrams(self.crates, spill, number, bad, self.event(spill, number)[bad], self.chunk_bytes)

    def test_a_fault_is_counted_for_its_crate(self):
        """A crate and a spill for each."""
        self.start_receiver()
        daemon = self.start_daemon()
        sender = self.udp_sender(daemon)

        def spoiled(*event):
            return [d[:12] + b"\0\0" + d[14:] if d[4:8] == bytes(4) and len(d) > 12 else d for d in self.fragment(*event)]
        table = (  # what the crate sends, and its count after the events of its spill
            (lambda bad, s, n: [], "missing", EVENTS),
            (lambda bad, s, n: self.fragment(bad, s, n + 500), "alone", EVENTS),
            (lambda *event: 2 * self.fragment(*event), "duplicate", EVENTS),
            (lambda bad, s, n: self.fragment(bad, s, n) if n % 20 else [], "missing", EVENTS // 20),
            (spoiled, "malformed", {"crate_header": EVENTS}))
        for bad, (of_bad, counted, count) in enumerate(table, 1):
            for number in range(1, 2 * EVENTS + 1):
                is_bad = number > EVENTS
                sender.event(bad, number, self.event(bad, number), without=(bad,) if is_bad else ())
                sender.send(of_bad(bad, bad, number) if is_bad else ())
            sender.end(bad, 2 * EVENTS)
            daemon.wait_for(lambda s, bad=bad, counted=counted, count=count: s["crates"][bad][counted] == count, f"{count} {counted} of crate {bad}")
        status = daemon.wait_for(lambda s: not s["events"]["in_flight"] and not s["fragments"]["in_flight"], "the end of all events")
        self.assertEqual([c["crate"] for c in status["crates"] if c["missing"] or c["alone"] or c["duplicate"] or c["malformed"]], list("12345"))
        m = daemon.metrics()
        self.assertEqual([m[f'koto_l3_crate_fragments_missing_total{{crate="{c}"}}'] for c in range(7)], [c["missing"] for c in status["crates"]])
        self.assertEqual([m[f'koto_l3_crate_fragments_seen_total{{crate="{c}"}}'] for c in range(7)], [c["seen"] for c in status["crates"]])
        self.assertLess(abs(m['koto_l3_crate_last_fragment_timestamp_seconds{crate="0"}'] - time.time()), harness.PATIENCE)
        ledger = self.stop_daemon(daemon)
        for name in ("seen", "admitted", "incomplete", "late", "duplicate"):
            self.assertEqual(sum(c[name] for c in ledger["crates"]), ledger["fragments"][name], name)


if __name__ == "__main__":
    harness.main()
