#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is shed when memory and disk are nearly full: events that came by datagrams, by the priority of their lines and the hash of
docs/formats.md, section 7, and no event of a sender over TCP. When the receiver is back shedding ends, and the sums balance. The steps in
which it begins are those of tests/daemon/compute/shedding_test.cpp."""
import harness
import level2
import selection_stage
import store_reader
from selection_stage import RUN

LINES = {"low": (10, 2), "middle": (100, 3), "high": (200, 3)}  # priority, prescale: low alone has 2 events in 9
SELECTION = selection_stage.SELECTION[:selection_stage.SELECTION.index("[[line]]")] + "".join(
    f'[[line]]\nname = "{name}"\npriority = {priority}\nprescale = {prescale}\n' for name, (priority, prescale) in LINES.items())
AT_MOST = {"low": 0, "middle": 0, "high": 32}  # the prescales of the last state; 0: none is left
SALT = 0x73686564
MIB = 1 << 20
MEMORY, DISK = 4 * MIB, 128 * MIB
BEGINS, FILLED = 0.95, 0.985  # beyond the second by less than two of the largest events, with room for what comes by datagrams


def survives(spill, number, prescale, name, salt=0):
    return store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name) ^ salt, prescale)


def kept_by(spill, number):
    """All three fire on every event; these lines' prescales keep it."""
    return [name for name, (_, prescale) in LINES.items() if survives(spill, number, prescale, name)]


def goes_on(spill, number):
    """Whether an event is left in the last state."""
    return any(AT_MOST[name] and survives(spill, number, AT_MOST[name], name, SALT) for name in kept_by(spill, number))


class Shedding(selection_stage.Selecting):
    chunk_bytes = 60_000

    def flat_event(self, flags):
        """A whole readout in which nothing happens, for `renamed` to make others of."""
        samples = level2.big_endian([0x8000] * level2.SAMPLE_WORDS)
        boards = [level2.header(1, 1, slot, 0, second=flags) + samples + level2.FOOTER for slot in level2.SLOTS]
        return [level2.fragment(1, boards[:crate.boards]) for crate in self.crates]

    def make(self, template, *key):
        self.sent[key] = [level2.renamed(f, c.boards, *key) for f, c in zip(template, self.crates)]
        return self.sent[key]

    def settled(self):
        """A /status that was made after every event sent so far was judged."""
        status = self.daemon.wait_for(lambda s: s["lines"][0]["fired"] == len(self.sent), f"{len(self.sent)} events judged")
        return self.daemon.wait_for(lambda s: s["uptime"] > status["uptime"], "a later /status")

    def fill(self):
        """Memory and disk, over TCP with events that cannot be packed, to where shedding would begin."""
        large, packed, full, number = self.flat_event(level2.COMPRESSED), 0, 0, 0
        tcp = self.stream_sender(run=RUN).connect()
        tcp.begin(1)
        while full < FILLED * (MEMORY + DISK) - MEMORY:  # the disk also has a copy of what is in memory
            number += 1
            last = tcp.event(1, number, self.make(large, 1, number))
            if not packed and kept_by(1, number):
                tcp.wait_for_acknowledgement(last)
                packed = self.daemon.wait_for(lambda s: s["bytes"]["packed"], "a packed event")["bytes"]["packed"]
            full += packed if kept_by(1, number) else 0
        tcp.wait_for_acknowledgement(tcp.end(1, number), harness.PATIENCE)

        def fullness(status):
            outbox, spool = status["outbox"], status["spool"]
            return (outbox["bytes"] + spool["disk_bytes"]) / (outbox["capacity"] + spool["disk_bytes"] + spool["room"])
        self.daemon.wait_for(lambda s: fullness(s) > BEGINS, "memory and disk nearly full")

    def datagrams(self, spill, events):
        """A spill of events that are packed to little; the prescales of shedding after it."""
        for number in range(1, events + 1):
            self.udp.event(spill, number, self.make(self.small, spill, number))
        status = self.settled()
        self.udp.end(spill, events)
        return {line["line"]: line["shed_prescale"] for line in status["lines"]}

    def test_by_priority_and_never_of_a_sender_that_waits(self):
        self.sent, self.small, selection = {}, self.flat_event(0), str(self.write(SELECTION))
        self.daemon = self.start_daemon(selection={"lines": selection}, frames={"count": 16, "events": 8}, udp={"ports": 1},
                                        building={"event_time_limit": "30 s"}, outbox={"memory": "4 MiB", "block": "64 KiB"},
                                        spool={"size": "128 MiB", "floor": "0 B", "segment": "1 MiB"},
                                        histograms={"one_in": 0})  # they would take room, by spill
        self.udp = self.udp_sender(self.daemon, 1)
        self.fill()
        self.assertEqual(sum(self.settled()["events"]["shed"].values()), 0, "an event of a sender that waits is shed")
        spills = iter(range(2, 512))
        harness.wait_until(lambda: self.datagrams(next(spills), 10) == AT_MOST, "the last state")
        judged = [(spill, n) for spill in (next(spills), next(spills)) for n in range(1, 41)]
        for spill in sorted({spill for spill, _ in judged}):
            self.assertEqual(self.datagrams(spill, 40), AT_MOST)
        self.start_receiver()
        self.daemon.wait_for(lambda s: "shedding" not in s["state"]["degraded"], "the end of shedding")
        status = self.daemon.wait_for(lambda s: not s["events"]["in_flight"] and not s["spool"]["events"], "everything to be stored")
        metrics, ledger = self.assert_metrics_conserved(self.daemon), self.finish(self.daemon)

        stored = store_reader.packed_events_of(self.store)
        self.assertEqual({key for key in stored if key[0] == 1}, {key for key in self.sent if key[0] == 1 and kept_by(*key)})
        self.assertEqual({key for key in judged if key in stored}, {key for key in judged if goes_on(*key)})
        self.assertTrue(any(goes_on(*key) for key in judged), "none is left: this proves less than it says")
        lost = [key for key in self.sent if kept_by(*key) and key not in stored]
        for line in status["lines"]:
            self.assertEqual(line["shed"], sum(line["line"] in kept_by(*key) for key in lost))
            self.assertEqual(metrics[f'koto_l3_line_shed_total{{line="{line["line"]}"}}'], line["shed"])
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (len(self.sent), len(stored)))
        self.assertEqual(harness.nonzero(ledger["events"]["shed"]), {"priority": len(lost)})
        code, said = self.verify(self.write_events(self.sent), "--ledger", str(self.daemon.ledger_file), "--selection", selection)
        self.assertEqual((code, said["ledgers_agree"]), (selection_stage.FAILED, True), said)  # there are events missing: those that the ledger says
        self.assertEqual((said["events"]["missing"], harness.nonzero(said["fates"])), (len(lost), {"shed": len(lost)}))


if __name__ == "__main__":
    harness.main()
