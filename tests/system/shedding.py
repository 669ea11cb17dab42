#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is given up when memory and disk are nearly full: events that came by datagrams, by the priority of their lines and the hash of
docs/formats.md, section 7, and nothing of a sender over TCP, which waits. When the receiver is back it ends, and the sums balance.

Between two of the three lines stand `rungs`, lines that fire on nothing. The daemon takes a step each 50 ms, but none when no datagrams
came for a second: with more rungs than fit into that second the state between two lines lasts until the test goes on."""
import signal

import harness
import l2raw
import level2
import selection_stage
import store_reader
from selection_stage import RUN

LINES = {"low": (10, 2), "middle": (100, 3), "high": (200, 3)}  # priority, prescale: low alone has 2 events in 9
RUNGS = 14  # between two of them; 32 lines are the most
SEQUENCE = selection_stage.SELECTION[:selection_stage.SELECTION.index("[[line]]")]
STEPS = (2, 8, 32, 0)
SALT = 0x73686564
MIB = 1 << 20
MEMORY, DISK = 4 * MIB, 64 * MIB
BEGINS, ENDS = 0.95, 0.80
FILLED = 0.962  # beyond that by less than two of the largest events, with room for what comes by datagrams
EVENTS = 10  # in a spill of datagrams
TOO_MANY = 16  # of the largest: four for the disk, eight on their way to it


def selection():
    """(text of the file, priority of each line in its order)"""
    lines = [(name, priority, f"prescale = {prescale}") for name, (priority, prescale) in LINES.items()]
    for first in (LINES["low"][0], LINES["middle"][0]):
        lines += [(f"rung_{first + n}", first + n, "photons = 9") for n in range(1, RUNGS + 1)]
    text = "".join(f'[[line]]\nname = "{name}"\npriority = {priority}\n{rest}\n' for name, priority, rest in lines)
    return SEQUENCE + text, {name: priority for name, priority, _ in lines}


SELECTION, PRIORITIES = selection()
CLASSES = sorted(PRIORITIES.values())
MOST = len(STEPS) * len(CLASSES) - 1  # the highest are never given up altogether


def shed_prescales(level):
    """Of each line, after so many steps: the lowest takes its four first, then the next."""
    def of(place):
        taken = min(level - len(STEPS) * place, len(STEPS))
        return STEPS[taken - 1] if taken > 0 else 1
    return {name: of(CLASSES.index(priority)) for name, priority in PRIORITIES.items()}


LEVELS = [shed_prescales(level) for level in range(MOST + 1)]


def kept_by(spill, number):
    """All three fire on every event; what their prescales leave."""
    return [name for name, (_, prescale) in LINES.items()
            if store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name), prescale)]


def goes_on(spill, number, level):
    """Whether an event that nobody keeps is left in this state."""
    return any(LEVELS[level][name] and store_reader.survives_prescale(RUN, spill, number, store_reader.line_id(name) ^ SALT,
                                                                      LEVELS[level][name]) for name in kept_by(spill, number))


def given_up_from(spill, number):
    """The first state that gives up this event, and with it all that follow; beyond the last if none does."""
    return next((level for level in range(1, MOST + 1) if not goes_on(spill, number, level)), MOST + 1)


def telling_spill(after, level):
    """The next spill among whose first events are some that this state gives up and some that it leaves."""
    return next(spill for spill in range(after + 1, 512)
                if len({given_up_from(spill, n) <= level for n in range(1, EVENTS + 1) if kept_by(spill, n)}) == 2)


def flat_event(flags):
    """A whole readout in which nothing happens, for `renamed` to make others of."""
    samples = level2.big_endian([0x8000] * level2.SAMPLE_WORDS)
    boards = [level2.header(1, 1, slot, 0, second=flags) + samples + level2.FOOTER for slot in level2.SLOTS]
    return [level2.fragment(1, boards[:crate.boards]) for crate in Shedding.crates]


class Shedding(selection_stage.Selecting):
    chunk_bytes = 60_000
    frames = {"count": 16, "events": 8}

    def setUp(self):
        super().setUp()
        # Datagrams bring what is packed to little, so that none of it waits for room; TCP what cannot be packed, so that few fill the disk.
        self.small, self.large = flat_event(0), flat_event(level2.COMPRESSED)
        self.sent = {}  # (spill, number): fragments
        self.states = {}  # of what came by datagrams: the first and the last that may have been in force, in the order of sending
        self.selection = str(self.write(SELECTION))
        self.settings = {"selection": {"lines": self.selection}, "frames": self.frames,
                         "udp": {"ports": 1},  # events are judged in the order in which they are sent
                         "building": {"event_time_limit": "30 s"}, "outbox": {"memory": "4 MiB", "block": "64 KiB"},
                         "spool": {"size": "64 MiB", "floor": "0 B", "segment": "1 MiB"},
                         "histograms": {"one_in": 0}}  # they would take room, by spill

    def make(self, template, spill):
        """The next event of a spill."""
        number = 1 + sum(s == spill for s, _ in self.sent)
        self.sent[spill, number] = [level2.renamed(f, c.boards, spill, number) for f, c in zip(template, self.crates)]
        return spill, number

    # What the daemon says

    def settled(self):
        """A /status that was made after every event sent so far was judged."""
        return self.later(self.daemon.wait_for(lambda s: s["lines"][0]["fired"] == len(self.sent), f"{len(self.sent)} events judged"))

    def later(self, status):
        return self.daemon.wait_for(lambda s: s["uptime"] > status["uptime"], "a later /status")

    def level(self, status):
        """How many steps have been taken. The lines of one /status may be a step apart, and so of no state of the page; but not twice."""
        def shown(s):
            factors = {line["line"]: line["shed_prescale"] for line in s["lines"]}
            return LEVELS.index(factors) if factors in LEVELS else None

        at = shown(status)
        if at is None:
            at = shown(self.later(status))
        self.assertIsNotNone(at, f"no order of the page: {status['lines']}")
        return at

    @staticmethod
    def fullness(status):
        outbox, spool = status["outbox"], status["spool"]
        return (outbox["bytes"] + spool["disk_bytes"]) / (outbox["capacity"] + spool["disk_bytes"] + spool["room"])

    # What is sent

    def datagrams(self, spill, events):
        """So many events by datagrams; gives the state after them."""
        first, keys = self.level(self.daemon.status()), []
        for _ in range(events):
            keys.append(self.make(self.small, spill))
            self.udp.event(*keys[-1], self.sent[keys[-1]])
        last = self.level(self.settled())
        self.states.update((key, (first, last)) for key in keys)
        return last

    def datagrams_in(self, level):
        """A spill of them, in which some are given up in this state."""
        self.spill = telling_spill(self.spill, level)
        at = self.datagrams(self.spill, EVENTS)
        self.udp.end(self.spill, EVENTS)
        return at

    def climb(self, line, factor):
        """Events by datagrams until a line has this prescale for what is given up."""
        self.spill += 1
        at, events = self.level(self.daemon.status()), 0
        while LEVELS[at][line] != factor:
            at, events = self.datagrams(self.spill, 1), events + 1
        self.udp.end(self.spill, events)
        return at

    def fill(self):
        """Memory and disk, over TCP, to where giving up would begin."""
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
        self.assertLess(self.fullness(status), 0.98, "no room is left for what comes by datagrams")
        self.assertEqual(self.level(self.settled()), 0, "something of a sender that waits is to be given up")

    def reach_the_last_state(self):
        """Each line in its turn, with events in each state."""
        at = self.climb("low", 0)
        self.assertEqual(LEVELS[at]["middle"], 1, "low is not given up alone")
        self.datagrams_in(at)
        at = self.climb("middle", 0)
        self.assertEqual(LEVELS[at]["high"], 1, "high is given up before there is nothing else left")
        self.datagrams_in(at)
        self.assertEqual(self.climb("high", 32), MOST)
        self.assertEqual(self.datagrams_in(MOST), MOST)

    def overfill(self):
        """More over TCP than there is room for; gives the last record."""
        self.spill += 1
        before = self.daemon.status()["events"]["shed"]
        self.tcp.begin(self.spill)
        keys = []
        while sum(bool(kept_by(*key)) for key in keys) < TOO_MANY:
            keys.append(self.make(self.large, self.spill))
            self.tcp.event(*keys[-1], self.sent[keys[-1]])
        last = self.tcp.end(self.spill, len(keys))
        self.assertTrue(any(kept_by(*key) and given_up_from(*key) <= MOST for key in keys), "none that would be given up")

        def all_wait(status):
            self.assertEqual(status["events"]["shed"], before, "events of a sender that waits are given up")
            return status["events"]["admitted"] == len(self.sent) and "outbox_full" in status["state"]["degraded"]

        status = self.later(self.daemon.wait_for(all_wait, "a drain thread that waits for room"))
        self.assertTrue(all_wait(status))
        self.assertIn("shedding", status["state"]["degraded"])
        self.assertFalse(self.tcp.listen(0.1, lambda: self.tcp.acknowledged >= last), "told that all is safe")
        return last

    def hold_between(self, receiver):
        """Stops the receiver when there is room again, but not enough to end it."""
        self.daemon.wait_for(lambda s: self.fullness(s) < 0.94, "room")
        receiver.signal(signal.SIGSTOP)
        status = self.later(self.daemon.status())
        self.assertTrue(ENDS < self.fullness(status) < BEGINS, self.fullness(status))
        self.assertIn("shedding", status["state"]["degraded"])
        self.assertEqual(self.datagrams_in(MOST), MOST)

    def release(self, receiver):
        """All that waits flows; what comes afterwards is stored."""
        self.write_config(**self.settings, forward={"rate": "unlimited"})
        self.daemon.signal(signal.SIGHUP)
        receiver.signal(signal.SIGCONT)
        status = self.daemon.wait_for(lambda s: "shedding" not in s["state"]["degraded"], "an end of giving up")
        self.assertLess(self.fullness(self.later(status)), ENDS)  # the sums of one /status may be older than its state
        self.assertEqual(self.datagrams_in(MOST), 0)

    def assert_fates(self, stored):
        """What is not stored was rejected or given up, and that as the page says; gives how many of each line were given up."""
        shed, reached = dict.fromkeys(PRIORITIES, 0), 0
        for key in self.sent:
            lines = kept_by(*key)
            if not lines:
                self.assertNotIn(key, stored)
                continue
            if key not in self.states:
                self.assertIn(key, stored, "given up, although its sender waits")
                continue
            first, last = self.states[key]
            if key in stored:
                self.assertGreater(given_up_from(*key), first, f"{key} of {lines} is stored")
                self.assertTrue(last == 0 or given_up_from(*key) > reached, f"{key} of {lines} is stored, what was worth as much was not")
            else:
                self.assertLessEqual(given_up_from(*key), last, f"{key} of {lines} is given up")
                reached = max(reached, given_up_from(*key))
                for line in lines:
                    shed[line] += 1
        return shed

    def test_by_priority_and_never_of_a_sender_that_waits(self):
        self.daemon = self.start_daemon(**self.settings, forward={"rate": "20 Mb/s"})
        self.udp = harness.UdpSender(self.crates, harness.HOST, self.ports.udp, 1, self.chunk_bytes, waiting=self.daemon.waiting)
        self.addCleanup(self.udp.close)
        self.tcp = self.stream_sender(run=RUN).connect()
        self.fill()
        self.spill = 1
        self.reach_the_last_state()
        last = self.overfill()
        receiver = self.start_receiver()
        self.hold_between(receiver)
        self.release(receiver)
        self.tcp.wait_for_acknowledgement(last, harness.PATIENCE)
        self.settled()
        status = self.daemon.wait_for(lambda s: not s["events"]["in_flight"], "everything to be stored")
        metrics = self.assert_metrics_conserved(self.daemon)
        ledger = self.finish(self.daemon)

        stored = store_reader.packed_events_of(self.store)
        shed = self.assert_fates(stored)
        self.assertTrue(all(shed[name] for name in LINES), shed)
        for line in status["lines"]:
            self.assertEqual((line["shed"], line["shed_prescale"]), (shed[line["line"]], 1), line)
        for name, events in shed.items():
            self.assertEqual(metrics[f'koto_l3_line_shed_total{{line="{name}"}}'], events)
        rejected = sum(not kept_by(*key) for key in self.sent)
        lost = len(self.sent) - rejected - len(stored)
        self.assertEqual(ledger["events"]["admitted"], len(self.sent))
        self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["rejected"]), (len(stored), rejected))
        self.assertEqual(harness.nonzero(ledger["events"]["shed"]), {"priority": lost})
        self.assertEqual(metrics['koto_l3_events_shed_total{reason="priority"}'], lost)

        sent = self.folder / "sent.l2raw"
        spills = {}
        for (spill, _), fragments in self.sent.items():
            spills.setdefault(spill, []).append(fragments)
        l2raw.write(sent, self.crates, spills, RUN)
        code, said = self.verify(sent, "--ledger", str(self.daemon.ledger_file), "--selection", self.selection)
        self.assertEqual(code, selection_stage.FAILED, said)  # there are events missing: those that the ledger says
        self.assertTrue(said["ledgers_agree"], said)
        self.assertEqual(harness.nonzero(said["events"]), {"sent": len(self.sent), "stored": len(stored), "equal": len(stored),
                                                           "rejected": rejected, "missing": lost})
        self.assertEqual(harness.nonzero(said["fates"]), {"shed": lost})


if __name__ == "__main__":
    harness.main()
