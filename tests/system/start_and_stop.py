#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts that cannot succeed say why and with which exit code; a start after a crash says what it cost; a reload takes what it can. Stops under
load are the row R17 of tests/fault, wrong configurations rows of mistakes.py."""
import itertools
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time

import harness
from managing import ServiceManager

MISSING_RESOURCE, BAD_CONFIGURATION = 69, 78


class Start(harness.SystemTest):
    def start(self, config, code, *texts):
        p = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config], self.folder / "daemon.log"))
        self.assertEqual(p.wait(), code, p.said())
        for text in texts:
            self.assertIn(text, p.said())
        self.assertLessEqual(len(p.said().splitlines()), 17, p.said())  # the memory plan and a sentence

    def test_a_port_that_is_taken(self):
        for kind, port, key in ((socket.SOCK_DGRAM, self.ports.udp + 3, "udp.bind"), (socket.SOCK_STREAM, self.ports.tcp, "tcp.bind"),
                                (socket.SOCK_STREAM, self.ports.monitor, "monitor.bind")):
            with socket.socket(socket.AF_INET, kind) as s:
                s.bind((harness.HOST, port))
                if kind == socket.SOCK_STREAM:
                    s.listen()
                self.start(self.write_config(), MISSING_RESOURCE, str(port), "in use", key)
        # Nothing is left behind that would hinder the next start.
        self.stop_daemon(self.start_daemon())

    def test_the_service_manager_is_told_the_state(self):
        manager = ServiceManager(self.folder)
        daemon = self.start_daemon(manager.environment)
        manager.wait_for("STATUS=run 7: receiving; warning: receiver_absent, 0 events", "the state")
        self.start_receiver()
        manager.wait_for("STATUS=run 7: receiving, 0 events", "the receiver")
        self.assertEqual(daemon.stop(), 0)


class Receiver(harness.SystemTest):
    def test_each_option_may_stand_in_a_file(self):
        """The service's file, with every key in force; the command line comes first."""
        keys = dict(re.findall(r"^#?(\w+) = (.*)$", (harness.HERE.parents[1] / "deploy/receive.toml").read_text(), re.M))
        told = subprocess.run([harness.BIN / "koto-l3", "receive", "--help"], capture_output=True, text=True, check=True).stdout
        options = {name.replace("-", "_") for name in re.findall(r"^  --([\w-]+)", told, re.M)} - {"config", "check_config", "elsewhere", "version"}
        self.assertEqual(set(keys), options)
        subprocess.run([harness.BIN / "koto-l3", "keys", self.folder / "receiver"], check=True, capture_output=True)
        keys |= {"bind": f'"tcp://{harness.HOST}:1"', "out": f'"{self.store}"', "monitor": f'"{harness.HOST}:0"',
                 "secret_key": f'"{self.folder}/receiver.secret"', "allow": f'"{self.folder}/receiver.public"', "json": "true",
                 "publish": f'"tcp://{harness.HOST}:{self.ports.receiver + 1}"'}
        file = self.folder / "receive.toml"
        file.write_text("".join(f"{key} = {value}\n" for key, value in keys.items()))
        self.assertEqual(self.run_tool("receive", "--config", file, "--check-config"), (0, f"{file}: ok\n"))
        self.assertFalse(self.store.exists())
        receiver = self.keep(harness.Program([harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}",
                                              "--config", file], self.folder / "receiver.log"))
        receiver.wait_to_say(f"listening on tcp://{harness.HOST}:{self.ports.receiver}, storing in {self.store}")
        receiver.wait_to_say("monitoring on")
        receiver.wait_to_say(f"publishing events on tcp://{harness.HOST}:{self.ports.receiver + 1}")
        self.assertEqual(receiver.stop(), 0)
        self.assertIn('"folder":', receiver.said())
        self.assertTrue((self.store / "ledger.json").is_file())

    def test_a_ledger_that_cannot_be_written_is_a_state_and_no_clean_end(self):
        receiver, daemon, ledger = self.start_receiver(), self.start_daemon(), self.store / "ledger.json"
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver")
        for spill in (1, 2):
            ledger.unlink()
            ledger.mkdir()
            self.send_events(self.udp_sender(daemon), self.make_events(40, spill))
            daemon.wait_for_stored(40 * spill)  # nevertheless
            receiver.wait_to_say(f"ledger_fails begins: the ledger: cannot write {ledger}: Is a directory")
            if spill == 1:
                ledger.rmdir()
                receiver.wait_to_say("ledger_fails is over")
                self.assertEqual(json.loads(ledger.read_text())["events"]["forwarded"], 40)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 1)


class AfterACrash(harness.SystemTest):
    def test_a_start_after_a_kill_says_what_it_cost(self):
        receiver = self.start_receiver()
        few = {"outbox": {"memory": "1 MiB", "block": "16 KiB"}}
        daemon = self.start_daemon(**few)
        self.assertNotIn("did not end properly", daemon.said())
        sender, sent = self.udp_sender(daemon), self.make_events(900)
        events = iter(sent.items())

        def send(some):
            self.send_events(sender, dict(itertools.islice(events, some)))

        send(200)
        daemon.wait_for(lambda s: s["events"]["forwarded"] > 100, "events to be stored")
        receiver.kill()
        send(500)
        before = daemon.wait_for(lambda s: s["spool"]["spilled"] > 50, "events on disk")
        daemon.wait_for(lambda s: s["uptime"] > before["uptime"] + 1, "that to be noted")
        send(200)
        daemon.kill()
        record = struct.unpack("<8s10Q", pathlib.Path(f"{daemon.ledger_file}.live").read_bytes())
        magic, session, run, started, noted, admitted, forwarded, rejected, shed, on_disk, ended = record
        self.assertEqual((magic, run, ended), (b"KL3L\0\0\1\0", 7, 0))
        self.assertEqual(f"{session:016x}", before["session"])
        self.assertGreaterEqual(admitted, before["events"]["admitted"])
        self.assertGreater(forwarded, 100)
        self.assertGreater(on_disk, 50)
        self.assertTrue(started <= noted <= time.time_ns())
        in_memory = admitted - forwarded - rejected - shed - on_disk

        daemon = self.start_daemon(**few)
        daemon.wait_to_say("ready: run 7")
        daemon.wait_to_say(f"the last run (session {before['session']}, run 7) did not end properly")
        daemon.wait_to_say(f"of {admitted} events admitted, {forwarded} forwarded, {rejected} rejected, {shed} shed, {on_disk} written to disk; "
                           f"up to {in_memory} were in memory")
        harness.wait_until(lambda: daemon.metrics()["koto_l3_last_run_lost_events"] == in_memory, f"{in_memory} in the metric")
        self.start_receiver()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["spool"]["events"], "what was on disk")
        self.stop_daemon(daemon)
        found = self.stored()
        self.assertGreaterEqual(len(found), admitted - shed - in_memory)
        self.assert_stored({key: sent[key] for key in found})
        daemon = self.start_daemon()
        daemon.wait_to_say("ready: run 7")
        self.assertNotIn("did not end properly", daemon.said())

    def test_a_start_after_a_stop_that_lost_events_tells_of_them(self):
        """No scrape of the process that lost them has seen it."""
        for ledger in self.folder / "ledger.json", f"{self.folder}/ledgers/":
            how = {"run": {"ledger": str(ledger), "drain_time_limit": "100 ms"}, "spool": {"folder": ""}}
            daemon = self.start_daemon(**how)
            self.send_events(self.udp_sender(daemon), self.make_events(50))
            daemon.wait_for(lambda s: s["events"]["admitted"] == 50, "all events")
            self.assertEqual(daemon.stop(), 1)
            daemon = self.start_daemon(**how)
            daemon.wait_for(lambda s: "lost_at_run_end" in s["state"]["degraded"], "the trouble")
            self.assertEqual(daemon.metrics()['koto_l3_ended_run_lost_events{reason="drain"}'], 50)
            self.assertEqual(daemon.stop(), 0)


class Reload(harness.SystemTest):
    def reload(self, daemon, outcome, **sections):
        """Writes the file anew, tells the daemon, and waits until it has taken or refused it."""
        self.write_config(**sections)
        series = f'koto_l3_reloads_total{{outcome="{outcome}"}}'
        before = daemon.metrics()[series]
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: daemon.metrics()[series] > before, f"a reload that is {outcome}")

    def test_a_new_rate_and_level_take_effect_and_a_bad_file_none(self):
        """At 1 Mb/s the rest would take longer than any wait of this test."""
        receiver, daemon = self.start_receiver(), self.start_daemon(forward={"rate": "1 Mb/s"})
        sender, sent = self.udp_sender(daemon), self.make_events(25 * harness.PATIENCE)
        self.send_events(sender, sent)
        sender.end(1, len(sent))
        status = daemon.wait_for(lambda s: s["events"]["admitted"] == len(sent), "all events")
        self.assertGreater(status["outbox"]["bytes"] * 8 / 1e6, 1.2 * harness.PATIENCE, status)
        self.reload(daemon, "refused", forward={"rate": "unlimited"}, frames={"count": 1})
        daemon.wait_to_say(re.compile(rf"reload: {self.folder}/l3.toml:\d+:\d+: frames.count = 1 is out of range"))
        daemon.wait_to_say("the settings stay as they are")
        self.reload(daemon, "applied", forward={"rate": "unlimited"}, frames={"count": 8}, outbox={"memory": "96 MiB"})
        daemon.wait_to_say('reload: now forward.rate = "unlimited"')
        daemon.wait_to_say("needs a restart: frames.count, outbox.memory")
        self.assertEqual(daemon.wait_for_stored(len(sent))["session"], status["session"])
        self.reload(daemon, "applied", forward={"rate": "unlimited"}, log={"level": "error"})
        so_far = daemon.said()
        self.end_and_compare(daemon, receiver, sent)
        self.assertEqual(daemon.said(), so_far, "nothing below an error is said at this level")


if __name__ == "__main__":
    harness.main()
