#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The disk behind the outbox: without a receiver a sender over TCP is told that its events are safe, and neither kill -9 nor
a stop of the daemon costs one of them, or stores one twice."""

import harness
import l2raw
import level2
import store_reader

SPILLS = {1: 250, 2: 250}
LITTLE_MEMORY = {"memory": "1 MiB", "block": "64 KiB"}


class Spool(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 77)
        self.sent = {(s, n): maker.fragments(s, n) for s, events in SPILLS.items() for n in range(1, events + 1)}
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {s: [self.sent[s, n] for n in range(1, events + 1)] for s, events in SPILLS.items()})

    def replay(self, *more):
        return self.start_tool("replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max", *more)

    def events_on_disk(self, daemon):
        return daemon.status()["spool"]["events"]

    def send_all_without_a_receiver(self, **sections):
        daemon = self.start_daemon(outbox=LITTLE_MEMORY, **sections)
        replay = self.replay()
        self.assertEqual(replay.wait(), 0, replay.said())  # it ends when every record is acknowledged
        return daemon

    def receive_all(self, daemon, of_this_start):
        receiver = self.start_receiver()
        if of_this_start:
            daemon.wait_for_stored(of_this_start)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        ledger = self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertRegex(receiver.said(), r"of \d+ sessions; now")
        self.assert_stored(self.sent)
        return ledger

    def test_a_receiver_that_is_away_costs_nothing_and_holds_nobody_up(self):
        daemon = self.send_all_without_a_receiver()
        status = daemon.wait_for(lambda s: s["events"]["in_flight"] == len(self.sent), "every event in memory or on disk")
        self.assertIn("spilling", status["state"]["degraded"])
        self.assertGreater(status["spool"]["spilled"], 0)
        ledger = self.receive_all(daemon, len(self.sent))
        self.assertEqual(ledger["events"]["forwarded"], len(self.sent))
        self.assertEqual(ledger["spool"]["waiting"], 0)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", daemon.ledger_file)
        self.assertEqual(code, 0, said)

    def test_files_that_may_not_grow(self):
        """Beyond the limit the system sends a signal that ends programs, unless they ignore it."""
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        daemon.limit("fsize", 200_000)
        replay = self.replay()
        daemon.wait_for(lambda s: s["spool"]["write_errors"] > 0 and s["state"]["degraded"], "a segment that may not grow")
        daemon.wait_for(lambda s: "spool_fails" in s["state"]["degraded"], "the state that says it")
        daemon.limit("fsize", "unlimited")
        self.assertEqual(replay.wait(), 0, replay.said())
        self.receive_all(daemon, len(self.sent))
        daemon.wait_to_say("the disk refuses a block of the spool: File too large")
        daemon.wait_to_say("spool_fails begins: ")

    def test_kill_9_loses_nothing_that_was_acknowledged(self):
        daemon = self.send_all_without_a_receiver()
        daemon.kill()
        of_the_killed = daemon.ledger_file.rename(self.folder / "killed-ledger.json")
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        daemon.wait_to_say("on disk, and are sent now")
        ledger = self.receive_all(daemon, 0)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", of_the_killed, daemon.ledger_file)
        self.assertIn(f"{of_the_killed} is not final: the daemon still runs or was killed", said)
        self.assertNotIn(f"{daemon.ledger_file} is not final", said)
        self.assertEqual((harness.json.loads(of_the_killed.read_text())["ended"], ledger["ended"]), (False, True))
        self.assertEqual(ledger["spool"]["found"], len(self.sent))
        self.assertEqual(sum(lane["delivered"] for lane in ledger["spool"]["lanes"]), len(self.sent))
        self.assertEqual(ledger["events"]["admitted"], 0)

    def test_a_stop_without_a_receiver_leaves_everything_to_the_next_start(self):
        daemon = self.send_all_without_a_receiver()
        self.assertEqual(daemon.stop(), 0, daemon.said())
        first = self.folder / "first-ledger.json"
        daemon.ledger_file.rename(first)
        ledger = harness.json.loads(first.read_text())
        self.assert_conserved(ledger)
        self.assertTrue(ledger["clean"])
        self.assertEqual(ledger["spool"]["waiting"], len(self.sent))
        self.assertEqual(ledger["events"]["in_flight"], len(self.sent))
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        self.receive_all(daemon, 0)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", first, daemon.ledger_file)
        self.assertEqual(code, 0, said)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", daemon.ledger_file)
        self.assertRegex(said, r"\d+ sessions are in no daemon's ledger")

    def test_what_a_stopped_daemon_left_on_disk_is_read_by_hand(self):
        daemon = self.send_all_without_a_receiver()
        self.stop_daemon(daemon)
        spool = self.folder / f"spool-{self.ports.tcp}"
        self.assert_extracted(self.sent, spool)
        code, said = self.run_tool("verify", self.file, spool)
        self.assertEqual(code, 0, said)
        segment = next(spool.glob("spool-*.kl3"))
        before = segment.read_bytes()
        code, said = self.run_tool("extract", spool, segment)
        self.assertIn("is a file of the store", said)
        self.assertTrue(segment.read_bytes() == before, "it wrote over what it was to read")

    def test_another_codec_over_the_same_spool_and_store(self):
        """The starts have turns: each codec adds to a spool that has blocks of the other, and to a store that has."""
        found = {}
        for spill, codec in ((1, "koto"), (2, "strong")):
            of_spill = self.folder / f"{codec}.l2raw"
            l2raw.write(of_spill, self.crates, {spill: [self.sent[spill, n] for n in range(1, SPILLS[spill] + 1)]})
            daemon = self.start_daemon(outbox=LITTLE_MEMORY, output={"codec": codec})
            replay = self.start_tool("replay", of_spill, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
            self.assertEqual(replay.wait(), 0, replay.said())
            self.stop_daemon(daemon)
            found[codec] = SPILLS[spill]
        spool = self.folder / f"spool-{self.ports.tcp}"
        self.assert_extracted(self.sent, spool)
        self.assertEqual(self.run_for_json("info", spool)["events_by_codec"], found)

        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        self.receive_all(daemon, 0)
        self.assert_extracted(self.sent)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", daemon.ledger_file)
        self.assertEqual(code, 0, said)
        self.assertEqual(self.run_for_json("info", self.store)["events_by_codec"], found)
        codecs = [block.codec for block in store_reader.read_store(self.store, read=store_reader.packed) if block.events]
        self.assertEqual(set(codecs), {store_reader.KOTO_CODEC, store_reader.STRONG_CODEC})

    def test_what_is_given_up_at_a_stop_and_comes_again_is_no_disagreement(self):
        no_disk = {"spool": {"folder": ""}, "run": {"drain_time_limit": "1 s"}}
        daemon = self.start_daemon(**no_disk)
        of_the_sender = self.folder / "replay.json"
        replay = self.replay("--ledger", of_the_sender)
        daemon.wait_for(lambda s: s["events"]["admitted"] > 0, "events in memory")
        self.assertEqual(daemon.stop(), 1, daemon.said())
        first = daemon.ledger_file.rename(self.folder / "first-ledger.json")
        given_up = harness.json.loads(first.read_text())["events"]["shed"]["drain"]
        self.assertGreater(given_up, 0)
        receiver, daemon = self.start_receiver(), self.start_daemon(**no_disk)
        self.assertEqual(replay.wait(), 0, replay.said())
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        code, said = self.run_tool("verify", self.file, self.store, "--ledger", of_the_sender, first, daemon.ledger_file)
        self.assertEqual(code, 0, said)
        self.assertIn(f"{given_up} events that a daemon gave up at its stop, shed(drain), came again to another start", said)
        self.assertNotIn("final", said)

        # To a store of before they are missing, for a reason that is counted.
        (self.folder / "empty").mkdir()
        (self.folder / "empty" / "blocks-000001.kl3").touch()
        code, said = self.run_tool("verify", self.file, self.folder / "empty", "--ledger", first)
        self.assertEqual(code, 1, said)
        unknown = len(self.sent) - given_up
        self.assertIn(f"{len(self.sent)} events missing, {given_up} shed and counted" +
                      (f", {unknown} of which the daemons' ledgers say nothing" if unknown else ""), said)

    def test_killed_again_and_again_while_both_lines_are_busy(self):
        """A slow line: fresh events and the backlog share it while the daemon is killed."""
        slow = {"forward": {"rate": "8 Mb/s"}, "outbox": LITTLE_MEMORY}
        daemon = self.start_daemon(**slow)
        replay = self.replay()
        receiver = self.start_receiver()
        for kills in range(4):
            before = daemon.status()["receiver"]["blocks_stored"]
            daemon.wait_for(lambda s: s["receiver"]["blocks_stored"] > before or not replay.running(), "blocks stored")
            daemon.kill()
            daemon = self.start_daemon(**slow)
        daemon.kill()
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        self.assertEqual(replay.wait(), 0, replay.said())
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0 and not daemon.status()["events"]["in_flight"],
                           "everything to be stored")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)

    def test_always_keeps_what_came_by_datagrams(self):
        daemon = self.start_daemon(spool={"use": "always"})
        sender = self.udp_sender(daemon)
        spill = {key: f for key, f in self.sent.items() if key[0] == 1}
        for (s, n), fragments in spill.items():
            sender.event(s, n, fragments)
        harness.wait_until(lambda: self.events_on_disk(daemon) == len(spill), "every event on disk")
        daemon.kill()
        daemon = self.start_daemon(spool={"use": "always"})
        receiver = self.start_receiver()
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(spill)

    def damage_each_block(self):
        for segment in (self.folder / f"spool-{self.ports.tcp}").glob("spool-*.kl3"):
            data = bytearray(segment.read_bytes())
            for at in range(40_000, len(data), 40_000):  # a block has 64 KiB
                data[at] ^= 1
            with open(segment, "r+b") as f:  # the same file: the daemon has it open
                f.write(data)

    def check_that_loss_is_told(self, daemon):
        receiver = self.start_receiver()
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        self.assertEqual(daemon.stop(), 1, daemon.said())
        self.assertRegex(daemon.said(), r"up to \d+ events that were called safe are lost on disk")
        self.assertEqual(receiver.stop(), 0)
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        self.assertFalse(ledger["clean"], "an event was called safe, and is lost")
        return ledger, len(self.sent) - len(self.stored())

    def test_what_was_called_safe_and_cannot_be_read_is_no_clean_end(self):
        daemon = self.send_all_without_a_receiver()
        self.damage_each_block()
        ledger, missing = self.check_that_loss_is_told(daemon)
        self.assertGreater(missing, 0, "nothing was lost: this test proves nothing")
        self.assertEqual(ledger["events"]["shed"]["spool"], missing)

    def test_what_an_earlier_start_called_safe_and_cannot_be_read_is_no_clean_end(self):
        daemon = self.send_all_without_a_receiver(spool={"segment": "1 MiB"})  # of several segments
        self.stop_daemon(daemon)
        self.damage_each_block()
        ledger, missing = self.check_that_loss_is_told(self.start_daemon(outbox=LITTLE_MEMORY, spool={"segment": "1 MiB"}))
        self.assertGreater(missing, 0, "nothing was lost: this test proves nothing")
        self.assertGreater(sum(lane["damaged"] for lane in ledger["spool"]["lanes"]), 0)

    def test_a_segment_that_is_removed_ends_the_daemon(self):
        """An operator's error: the daemon says so, and writes nothing anew. The ledger and `verify` show what is missing."""
        daemon = self.send_all_without_a_receiver()
        spool = self.folder / f"spool-{self.ports.tcp}"
        segment = min(spool.glob("spool-*.kl3"))
        segment.unlink()
        receiver = self.start_receiver()
        self.assertEqual(daemon.wait(), 1, daemon.said())
        self.assertIn(f"draining: {segment} was removed while the daemon used it", daemon.said())
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        self.assertEqual((ledger["ended"], ledger["clean"]), (True, False))
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        daemon.wait_to_say("were on disk and are in no file")
        self.assertEqual(daemon.stop(), 1, "blocks that were called safe are gone: " + daemon.said())
        self.assertGreater(daemon.ledger()["spool"]["gone"], 0)
        self.assertEqual(receiver.stop(), 0)
        self.assertNotEqual(self.run_tool("verify", self.file, self.store)[0], 0)

    def test_a_folder_belongs_to_one_daemon(self):
        first = self.start_daemon()
        other = harness.Ports()
        config = self.write_config("other.toml", monitor={"bind": f"{harness.HOST}:{other.monitor}"},
                                   tcp={"bind": f"{harness.HOST}:{other.tcp}"}, udp={"bind": f"{harness.HOST}:{other.udp}"},
                                   run={"ledger": ""}, spool={"folder": str(self.folder / f"spool-{self.ports.tcp}")})
        second = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config], self.folder / "second.log"))
        self.assertNotEqual(second.wait(), 0)
        self.assertIn("spool.folder", second.said())
        self.assertIn("in use by another daemon: give each its own", second.said())

    def test_a_folder_of_a_store(self):
        self.store.mkdir()
        (self.store / "blocks-000001.kl3").touch()
        config = self.write_config(spool={"folder": str(self.store)})
        sentence = "it is a store, of which blocks-000001.kl3 is a file; a spool has a folder of its own"
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        self.assertNotEqual(daemon.wait(), 0)
        self.assertIn(sentence, daemon.said())

    def test_a_ledger_of_a_daemon_that_runs_is_not_written_over(self):
        first = self.start_daemon()
        harness.wait_until(first.ledger_file.exists, "its first ledger")
        session = first.ledger()["session"]
        other = harness.Ports()
        config = self.write_config("other.toml", monitor={"bind": f"{harness.HOST}:{other.monitor}"},
                                   tcp={"bind": f"{harness.HOST}:{other.tcp}"}, udp={"bind": f"{harness.HOST}:{other.udp}"},
                                   spool={"folder": ""})
        sentence = f"{first.ledger_file} is in use by another daemon: give each its own run.ledger"
        second = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config], self.folder / "second.log"))
        harness.wait_until(lambda: second.process.poll() is not None, "the second daemon's refusal")
        second.wait_to_say(sentence)
        self.assertEqual(first.ledger()["session"], session)


if __name__ == "__main__":
    harness.main()
