#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is shed when memory and disk are nearly full: events that came by datagrams, by the priority of their lines and the hash of
docs/formats.md, section 7, and no event of a sender over TCP, which waits. When the receiver is back shedding ends, and the sums balance.
The steps in which it begins are those of tests/daemon/compute/shedding_test.cpp."""
import harness
import level2
import selection_stage
import store_reader
from selection_stage import RUN

LINES = {"low": (10, 2), "middle": (100, 3), "high": (200, 3)}  # priority, prescale: low alone has 2 events in 9
SELECTION = selection_stage.SELECTION[:selection_stage.SELECTION.index("[[line]]")] + "".join(
    f'[[line]]\nname = "{name}"\npriority = {priority}\nprescale = {prescale}\n' for name, (priority, prescale) in LINES.items())
STEPS = (2, 8, 32, 0)
SALT = 0x73686564
MIB = 1 << 20
MEMORY, DISK = 4 * MIB, 128 * MIB
BEGINS, ENDS = 0.95, 0.80
FILLED = 0.985  # beyond that by less than two of the largest events, with room for what comes by datagrams
EVENTS = 10  # in a spill of datagrams
TOO_MANY = 16  # of the largest: four for the disk, eight on their way to it
MOST = len(STEPS) * len(LINES) - 1  # the highest is never shed altogether


def shed_prescales(level):
    """Of each line, after so many steps: the lowest takes its four first, then the next."""
    def of(place):
        taken = min(level - len(STEPS) * place, len(STEPS))
        return STEPS[taken - 1] if taken > 0 else 1
    return {name: of(place) for place, name in enumerate(LINES)}


LEVELS = [shed_prescales(level) for level in range(MOST + 1)]


def kept_by(spill, number):
    """All three fire on every event; these lines' prescales keep it."""
    return [name for name, (_, prescale) in LINES.items()
            if store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name), prescale)]


def goes_on(spill, number, level):
    """Whether an event is left in this state."""
    return any(LEVELS[level][name] and store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name) ^ SALT,
                                                                      LEVELS[level][name]) for name in kept_by(spill, number))


def shed_from(spill, number):
    """The first state that sheds this event, and with it all that follow; beyond the last if none does."""
    return next((level for level in range(1, MOST + 1) if not goes_on(spill, number, level)), MOST + 1)


def telling_spill(after):
    """The next spill among whose first events are some that the last state sheds and some that it leaves."""
    return next(spill for spill in range(after + 1, 512) if len({shed_from(spill, n) <= MOST for n in range(1, EVENTS + 1) if kept_by(spill, n)}) == 2)


class Shedding(selection_stage.Selecting):
    chunk_bytes = 60_000

    def setUp(self):
        super().setUp()
        # Datagrams bring events that are packed to little, so that none of them waits for room; TCP such that cannot be packed, so that few
        # fill the disk.
        self.small, self.large = self.flat_event(0), self.flat_event(level2.COMPRESSED)
        self.sent = {}  # (spill, number): fragments
        self.states = {}  # of those that came by datagrams: the first and the last that may have been in force
        self.spill, self.selection = 1, str(self.write(SELECTION))
        self.settings = {"selection": {"lines": self.selection}, "frames": {"count": 16, "events": 8},
                         "udp": {"ports": 1},  # events are judged in the order in which they are sent
                         "building": {"event_time_limit": "30 s"}, "outbox": {"memory": "4 MiB", "block": "64 KiB"},
                         "spool": {"size": "128 MiB", "floor": "0 B", "segment": "1 MiB"},
                         "histograms": {"one_in": 0}}  # they would take room, by spill

    def flat_event(self, flags):
        """A whole readout in which nothing happens, for `renamed` to make others of."""
        samples = level2.big_endian([0x8000] * level2.SAMPLE_WORDS)
        boards = [level2.header(1, 1, slot, 0, second=flags) + samples + level2.FOOTER for slot in level2.SLOTS]
        return [level2.fragment(1, boards[:crate.boards]) for crate in self.crates]

    def make(self, template, spill):
        """The next event of a spill."""
        number = 1 + sum(s == spill for s, _ in self.sent)
        self.sent[spill, number] = [level2.renamed(f, c.boards, spill, number) for f, c in zip(template, self.crates)]
        return spill, number

    def settled(self):
        """A /status that was made after every event sent so far was judged."""
        status = self.daemon.wait_for(lambda s: s["lines"][0]["fired"] == len(self.sent), f"{len(self.sent)} events judged")
        return self.daemon.wait_for(lambda s: s["uptime"] > status["uptime"], "a later /status")

    def level(self):
        """How many steps have been taken. The lines of one /status may be a step apart, and so of no state of the page."""
        def shown():
            factors = {line["line"]: line["shed_prescale"] for line in self.daemon.status()["lines"]}
            return LEVELS.index(factors) + 1 if factors in LEVELS else None
        return harness.wait_until(shown, "a state of the page") - 1

    @staticmethod
    def fullness(status):
        outbox, spool = status["outbox"], status["spool"]
        return (outbox["bytes"] + spool["disk_bytes"]) / (outbox["capacity"] + spool["disk_bytes"] + spool["room"])

    def datagrams(self):
        """A spill of them; gives the state after it."""
        self.spill = telling_spill(self.spill)
        first, keys = self.level(), [self.make(self.small, self.spill) for _ in range(EVENTS)]
        for key in keys:
            self.udp.event(*key, self.sent[key])
        self.settled()
        last = self.level()
        self.udp.end(self.spill, EVENTS)
        self.states.update((key, (first, last)) for key in keys)
        return last

    def fill(self):
        """Memory and disk, over TCP, to where shedding would begin."""
        packed, full = 0, 0
        self.tcp.begin(1)
        while full < FILLED * (MEMORY + DISK) - MEMORY:  # the disk also has a copy of what is in memory
            key = self.make(self.large, 1)
            last = self.tcp.event(*key, self.sent[key])
            if not packed and kept_by(*key):
                self.tcp.wait_for_acknowledgement(last)
                packed = self.daemon.wait_for(lambda s: s["bytes"]["packed"], "a packed event")["bytes"]["packed"]
            full += packed if kept_by(*key) else 0
        self.tcp.wait_for_acknowledgement(self.tcp.end(1, len(self.sent)), harness.PATIENCE)
        status = self.daemon.wait_for(lambda s: self.fullness(s) > BEGINS, "memory and disk nearly full")
        self.assertLess(self.fullness(status), 0.998, "no room is left for what comes by datagrams")
        self.settled()
        self.assertEqual(self.level(), 0, "an event of a sender that waits is to be shed")

    def overfill(self):
        """More over TCP than there is room for; gives the last record."""
        self.spill += 1
        before, keys = self.daemon.status()["events"]["shed"], []
        self.tcp.begin(self.spill)
        while sum(bool(kept_by(*key)) for key in keys) < TOO_MANY:
            keys.append(self.make(self.large, self.spill))
            self.tcp.event(*keys[-1], self.sent[keys[-1]])
        last = self.tcp.end(self.spill, len(keys))
        self.assertTrue(any(kept_by(*key) and shed_from(*key) <= MOST for key in keys), "none that would be shed")
        status = self.daemon.wait_for(lambda s: s["events"]["admitted"] == len(self.sent) and "outbox_full" in s["state"]["degraded"],
                                      "a drain thread that waits for room")
        self.assertEqual(status["events"]["shed"], before, "events of a sender that waits are shed")
        self.assertIn("shedding", status["state"]["degraded"])
        self.assertFalse(self.tcp.listen(0.1, lambda: self.tcp.acknowledged >= last), "told that all is safe")
        return last

    def assert_fates(self, stored):
        """Which events are not stored was rejected or shed as the page says; gives how many of each line were shed."""
        shed, reached = dict.fromkeys(LINES, 0), 0
        for key in self.sent:
            lines, (first, last) = kept_by(*key), self.states.get(key, (0, 0))
            if not lines:
                self.assertNotIn(key, stored)
            elif key in stored:
                self.assertGreater(shed_from(*key), first, f"{key} of {lines} is stored")
                self.assertTrue(last == 0 or shed_from(*key) > reached, f"{key} of {lines} is stored, one that is worth as much was not")
            else:
                self.assertLessEqual(shed_from(*key), last, f"{key} of {lines} is shed")
                reached = max(reached, shed_from(*key))
                for line in lines:
                    shed[line] += 1
        return shed

    def test_by_priority_and_never_of_a_sender_that_waits(self):
        self.daemon = self.start_daemon(**self.settings)
        self.udp = harness.UdpSender(self.crates, harness.HOST, self.ports.udp, 1, self.chunk_bytes, waiting=self.daemon.waiting)
        self.addCleanup(self.udp.close)
        self.tcp = self.stream_sender(run=RUN).connect()
        self.fill()
        harness.wait_until(lambda: self.datagrams() == MOST, "the last state")
        for _ in range(2):
            self.assertEqual(self.datagrams(), MOST)
        last = self.overfill()
        self.start_receiver()
        status = self.daemon.wait_for(lambda s: "shedding" not in s["state"]["degraded"], "the end of shedding")
        self.tcp.wait_for_acknowledgement(last, harness.PATIENCE)
        self.assertLess(self.fullness(self.settled()), ENDS)
        self.assertEqual(self.datagrams(), 0)
        status = self.daemon.wait_for(lambda s: s["lines"][0]["fired"] == len(self.sent) and not s["events"]["in_flight"], "everything to be stored")
        metrics = self.assert_metrics_conserved(self.daemon)
        ledger = self.finish(self.daemon)

        stored = store_reader.packed_events_of(self.store)
        shed = self.assert_fates(stored)
        self.assertTrue(all(shed.values()), shed)
        for line in status["lines"]:
            self.assertEqual((line["shed"], line["shed_prescale"]), (shed[line["line"]], 1), line)
            self.assertEqual(metrics[f'koto_l3_line_shed_total{{line="{line["line"]}"}}'], line["shed"])
        rejected = sum(not kept_by(*key) for key in self.sent)
        lost = len(self.sent) - rejected - len(stored)
        self.assertEqual(ledger["events"]["admitted"], len(self.sent))
        self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["rejected"]), (len(stored), rejected))
        self.assertEqual(harness.nonzero(ledger["events"]["shed"]), {"priority": lost})
        code, said = self.verify(self.write_events(self.sent), "--ledger", str(self.daemon.ledger_file), "--selection", self.selection)
        self.assertEqual(code, selection_stage.FAILED, said)  # there are events missing: those that the ledger says
        self.assertTrue(said["ledgers_agree"], said)
        self.assertEqual(harness.nonzero(said["events"]), {"sent": len(self.sent), "stored": len(stored), "equal": len(stored),
                                                           "rejected": rejected, "missing": lost})
        self.assertEqual(harness.nonzero(said["fates"]), {"shed": lost})


if __name__ == "__main__":
    harness.main()
