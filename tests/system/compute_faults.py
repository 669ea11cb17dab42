#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A device that fails, hangs, goes wrong or cannot be had: nothing is lost, each byte is right, and the daemon says what it did.
The device is the fault executor (KOTO_L3_TEST_FAULT); tests/daemon/compute/supervised_engine_test.cpp has each of its faults."""
import pathlib
import shutil

import harness
import l2raw
import level2

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
EVENTS = 24  # of a spill; frames hold 4 of them, so that every fault has frames to hit


class ComputeFaults(harness.SystemTest):
    def start(self, fault, environment=None, **compute):
        """A daemon that checks every event."""
        self.receiver = self.start_receiver()
        self.compute = {"verify_one_in": 1, "dumps": str(self.folder / "dumps"), **compute}
        self.daemon = self.start_daemon({**harness.failing(fault), **(environment or {})}, frames={"events": 4}, compute=self.compute)
        self.sent, self.spill, self.sender = {}, 0, None

    def send_udp(self):
        self.sender = self.sender or self.udp_sender(self.daemon)
        for number, fragments in self.next_spill():
            self.sender.event(self.spill, number, fragments)
        self.sender.end(self.spill, EVENTS)

    def send_tcp(self):
        self.sender = self.sender or self.stream_sender(run=7).connect()
        self.sender.begin(self.spill + 1)
        for number, fragments in self.next_spill():
            self.sender.event(self.spill, number, fragments)
        self.sender.end(self.spill, EVENTS)

    def next_spill(self):
        self.spill += 1
        maker = level2.EventMaker(self.crates, self.spill)
        for number in range(1, EVENTS + 1):
            self.sent[self.spill, number] = maker.fragments(self.spill, number)
            yield number, self.sent[self.spill, number]

    def send_until(self, send, holds, what):
        """Spill after spill, each stored before the next, until the status of the engine is as wished."""
        def so_far():
            send()
            return holds(self.daemon.wait_for_stored(len(self.sent))["engine"])
        harness.wait_until(so_far, what)

    def end(self):
        """Everything was forwarded, and is stored as it was sent; the metrics after all of it."""
        self.daemon.wait_for_stored(len(self.sent))
        metrics = self.assert_metrics_conserved(self.daemon)
        ledger = self.stop_daemon(self.daemon)
        self.assertEqual(ledger["events"]["forwarded"], len(self.sent))
        self.assertEqual(sum(ledger["events"]["shed"].values()), 0)
        self.assertEqual(self.receiver.stop(), 0, self.receiver.said())
        self.assert_stored(self.sent)
        sent = self.folder / "sent.l2raw"
        l2raw.write(sent, self.crates, {spill: [self.sent[spill, n] for n in range(1, EVENTS + 1)]
                                        for spill in range(1, self.spill + 1)})
        code, said = self.run_tool("verify", sent, self.store)
        self.assertEqual(code, 0, said)
        return {name.removeprefix("koto_l3_"): value for name, value in metrics.items()}

    def dump(self):
        """The only file that was kept."""
        dumps = list((self.folder / "dumps").iterdir())
        self.assertEqual(len(dumps), 1, dumps)
        return dumps[0]

    def rerun(self, on, exit_code):
        """What `koto-l3 replay` says of the file that was kept."""
        p = self.keep(harness.Program([harness.BIN / "koto-l3", "replay", self.dump(), "--on", on], self.folder / f"{on}.log"))
        self.assertEqual(p.wait(), exit_code, p.said())
        return p.said()

    def test_a_hang_without_end(self):
        self.start("hang:from=3", time_limit="200 ms")
        self.send_until(self.send_tcp, lambda e: e["frames_bypassed"] >= 20, "twenty frames on the CPU")
        m = self.end()
        self.assertEqual(m["engine_restarts_total"], 0)
        self.daemon.wait_to_say("the device still hangs")

    def test_a_frame_that_the_device_has_not_copied_is_not_refilled(self):
        self.start("stall:at=3:for=2 s", time_limit="200 ms")
        self.send_tcp()
        self.daemon.wait_for(lambda s: s["frames"]["held"] == 1, "a frame that waits for the device")
        self.send_until(self.send_tcp, lambda e: not e["bypassed"], "the device again")
        self.assertEqual(self.daemon.status()["frames"]["held"], 0)
        m = self.end()
        self.assertEqual(m['engine_failures_total{kind="hang"}'], 1)

    def test_a_device_that_is_lost_to_its_process(self):
        """The daemon ends between spills, when a service manager would start it anew; the next one goes on, and nothing is lost."""
        managed = {"NOTIFY_SOCKET": "@koto-l3-test"}
        for send in (self.send_udp, self.send_tcp):
            with self.subTest(send.__name__):
                self.store = self.folder / send.__name__
                self.start("lost:from=3", managed)
                send()
                self.assertEqual(self.daemon.wait(), 75, self.daemon.said())
                ledger = self.daemon.ledger()
                self.assert_conserved(ledger)
                self.assertEqual((ledger["events"]["forwarded"], ledger["clean"]), (EVENTS, True), ledger)
                self.assertEqual(ledger["events"]["admitted"], EVENTS)
                self.daemon = self.start_daemon(managed, frames={"events": 4}, compute=self.compute)
                self.sender = None if send == self.send_udp else self.sender and self.stream_sender(run=7).connect()
                send()
                self.daemon.wait_for_stored(EVENTS)
                self.assertEqual(self.daemon.stop(), 0)
                self.receiver.stop()
                self.assert_stored(self.sent)

    def test_a_lost_device_without_a_service_manager(self):
        self.start("lost:from=3")
        self.send_until(self.send_tcp, lambda e: e["frames_bypassed"] >= 20, "twenty frames on the CPU")
        m = self.end()
        self.assertEqual(m["engine_restarts_total"], 0)
        self.assertEqual(m["degraded{reason=\"device_lost\"}"], 1)
        self.daemon.wait_to_say("only a new start of the daemon can have it again")

    def test_one_of_two_devices(self):
        self.start("lost:from=2", devices=[0, 1])
        self.send_until(self.send_udp, lambda e: e["frames_bypassed"] >= 4, "four frames on the CPU")
        m = self.end()
        computed = m['stage_duration_seconds_count{stage="compute"}']
        self.assertLess(m["bypassed_frames_total"], computed, "the frames of the other device stay there")
        self.daemon.wait_to_say("compute: device 1 of 2: the device is lost")
        self.assertNotIn("compute: device 2 of 2: the device", self.daemon.said())

    def test_a_wrong_bit(self):
        for send in (self.send_udp, self.send_tcp):
            with self.subTest(send.__name__):
                self.store = self.folder / send.__name__
                self.start("wrong_bit:at=2")
                send()
                self.daemon.wait_for(lambda s: "wrong_results" in s["state"]["degraded"], "the alarm")
                self.send_until(send, lambda e: not e["bypassed"], "the device again")
                m = self.end()
                self.assertEqual((m["wrong_events_total"], m['engine_failures_total{kind="wrong"}']), (1, 1))
                again = m["verified_events_total"] - len(self.sent)
                self.assertTrue(1 <= again <= 4, f"{again} events of the frame checked again, on the CPU")
                self.assertEqual(m["degraded{reason=\"wrong_results\"}"], 0)
                self.assertEqual(m["batches_dumped_total"], 1)
                said = self.rerun("serial", 1)
                self.assertRegex(said, r"the stored output: spill 1, event \d+ differs in 1 of \d+ bytes")
                self.assertRegex(said, r"the stored output: 1 of \d events differ from serial")
                said = self.rerun("pool", 1)
                self.assertRegex(said, r"pool \(\d+ threads?\): the same as serial")
                self.assertIn("the stored output: 1 of ", said)
                shutil.rmtree(self.folder / "dumps")

    def test_a_batch_that_was_selected_is_computed_again_with_the_selection_of_then(self):
        """Whatever has become of its files since."""
        self.crate_lines, self.crates, self.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), 8000
        files = {name: self.folder / f"{name}.toml" for name in ("selection", "detector")}
        for name, file in files.items():
            file.write_text((DEPLOY / f"{name}.toml").read_text())
        self.receiver = self.start_receiver()
        self.daemon = self.start_daemon(harness.failing("error:at=1"), frames={"events": 4, "count": 4},
                                        selection={"lines": str(files["selection"]), "detector": str(files["detector"])},
                                        compute={"dumps": str(self.folder / "dumps")})
        sender, maker = self.stream_sender(run=7).connect(), level2.EventMaker(self.crates, 1)
        sender.begin(1)
        for number in range(1, 5):
            sender.event(1, number, maker.fragments(1, number))
        sender.end(1, 4)
        self.daemon.wait_for(lambda s: s["engine"]["batches_dumped"] == 1, "a kept batch")
        self.assertEqual(self.daemon.stop(), 0)
        for file in files.values():
            file.unlink()
        for on in ("serial", "pool"):
            self.assertIn("no output was stored", self.rerun(on, 0))

    def test_files_that_are_no_kept_batch(self):
        other = self.folder / "other"
        other.write_bytes(b"KL3D" + bytes(100))
        for file, text in ((other, "the header at offset 0 is damaged"), (self.folder / "none", "cannot read")):
            code, said = self.run_tool("replay", file, "--on", "serial")
            self.assertNotEqual(code, 0)
            self.assertIn(text, said)
        other.write_bytes(b"anything")
        code, said = self.run_tool("replay", other, "--on", "serial")
        self.assertEqual(code, 1)
        self.assertIn("is no .l3batch file", said)
        self.assertEqual(self.run_tool("replay", other)[0], 2)
        self.assertEqual(self.run_tool("replay", other, "--on", "nowhere")[0], 2)

    def test_no_memory_at_the_start(self):
        self.start("no_memory", backend="auto")
        self.send_udp()
        self.assertEqual(self.end()["engine_failures_total{kind=\"error\"}"], 0)
        self.daemon.wait_to_say("kernels run on the CPU: the device is out of memory")
        p = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", self.write_config()], self.folder / "refused.log",
                                      harness.failing("no_memory")))
        self.assertEqual(p.wait(), 69)
        self.assertIn("the device is out of memory", p.said())


if __name__ == "__main__":
    harness.main()
