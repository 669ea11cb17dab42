#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts that cannot succeed say why and with which exit code; a start after a crash says what it cost; a reload takes what it can. Stops under
load are the row R17 of tests/fault, wrong configurations R24."""
import itertools
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time

import harness

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
        path = self.folder / "manager"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(path))
        manager.settimeout(harness.PATIENCE)
        daemon = self.start_daemon({"NOTIFY_SOCKET": str(path)})

        def told():
            return manager.recv(4096).decode()
        harness.wait_until(lambda: told().startswith("STATUS=run 7: receiving; warning: receiver_absent, 0 events"), "the state")
        self.start_receiver()
        harness.wait_until(lambda: told() == "STATUS=run 7: receiving, 0 events", "the receiver")
        self.assertEqual(daemon.stop(), 0)

    def test_a_receiver_whose_name_has_no_address(self):
        name = "x" * 64  # one more than DNS knows: no name server is asked
        daemon = self.start_daemon(forward={"to": f"tcp://{name}:42200"})
        text = f"the name in tcp://{name}:42200 (forward.to) has no address"
        daemon.wait_for(lambda s: s["problem"] and text in s["problem"]["text"], "the name in /status")
        daemon.wait_to_say(f"output link: the name {name} (forward.to) has no address on this machine: ")
        self.assertEqual(daemon.stop(), 0)


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

    def test_a_start_that_fails_at_its_ledger_leaves_the_crash_to_the_next_one(self):
        """No file may grow beyond 300 bytes, as on a full disk: a record fits, a ledger does not."""
        ledgers = self.folder / "ledgers"
        how = {"run": {"ledger": f"{ledgers}/"}, "spool": {"folder": ""}}
        daemon = self.start_daemon(**how)
        self.send_events(self.udp_sender(daemon), self.make_events(50))
        before = daemon.wait_for(lambda s: s["events"]["admitted"] == 50, "all events")
        daemon.wait_for(lambda s: s["uptime"] > before["uptime"] + 1, "that to be noted")
        daemon.kill()
        p = subprocess.run(["prlimit", "--fsize=300:300", harness.BIN / "koto-l3d", "--config", daemon.config], capture_output=True,
                           text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, 69, p.stderr)
        self.assertIn("cannot write", p.stderr)
        self.assertEqual(len(list(ledgers.glob("*.live"))), 1, "the record is kept")
        daemon = self.start_daemon(**how)
        harness.wait_until(lambda: daemon.metrics()["koto_l3_last_run_lost_events"] == 50, "50 in the metric")
        self.assertEqual(daemon.metrics()["koto_l3_last_run_crashed"], 1)
        daemon.wait_to_say("up to 50 were in memory")

    def test_a_folder_keeps_each_ledger_and_tells_of_each_crash_once(self):
        receiver, folder = self.start_receiver(), self.folder / "ledgers"
        ended, killed = [], []

        def start():
            daemon = self.start_daemon(run={"ledger": f"{folder}/"})
            daemon.wait_to_say("ready: run 7")
            return daemon, f"run000007-3-{daemon.status()['session']}.json"

        for crash in (False, True, False):
            daemon, name = start()
            if crash:
                killed.append(name)
                daemon.kill()
            else:
                ended.append(name)
                daemon.signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(), 0, daemon.said())
        self.assertEqual(daemon.said().count("did not end properly"), 1, daemon.said())
        self.assertEqual({p.name for p in folder.iterdir()}, {*ended, *killed, f"{killed[0]}.crashed", "node3.lock", "node3.last-run"})
        for name in (*ended, *killed):
            ledger = harness.json.loads((folder / name).read_text())
            self.assertEqual((ledger["clean"], f"run000007-3-{ledger['session']}.json"), (name in ended, name))
        daemon, _ = start()
        self.assertNotIn("did not end properly", daemon.said())
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0, daemon.said())
        receiver.stop()


class Reload(harness.SystemTest):
    def reload(self, daemon, outcome, **sections):
        """Writes the file anew, tells the daemon, and waits until it has taken or refused it."""
        self.write_config(**sections)
        series = f'koto_l3_reloads_total{{outcome="{outcome}"}}'
        before = daemon.metrics()[series]
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: daemon.metrics()[series] > before, f"reload {outcome}")

    def test_a_new_rate_and_level_take_effect_and_a_bad_file_none(self):
        receiver = self.start_receiver()
        slow = {"rate": "1 Mb/s"}
        daemon = self.start_daemon(forward=slow)
        sender, many = self.udp_sender(daemon), 25 * harness.PATIENCE
        first, second = self.make_events(many, 1), self.make_events(100, 2)
        self.send_events(sender, first)
        sender.end(1, many)
        before = daemon.status()
        self.reload(daemon, "refused", forward={"rate": "unlimited"}, frames={"count": 1}, log={"level": "debug"})
        daemon.wait_to_say(re.compile(rf"{self.folder}/l3.toml:\d+:\d+: frames.count = 1 is out of range"))
        daemon.wait_to_say("the settings stay as they are")
        self.send_events(sender, second)
        sender.end(2, 100)
        status = daemon.wait_for(lambda s: s["events"]["admitted"] == many + 100, "all events")
        # At 1 Mb/s the rest would take longer than any wait of this test.
        self.assertGreater(status["outbox"]["bytes"] * 8 / 1e6, 1.2 * harness.PATIENCE, status)
        self.reload(daemon, "applied", forward={"rate": "unlimited"}, frames={"count": 8}, outbox={"memory": "96 MiB"})
        daemon.wait_to_say('reload: now forward.rate = "unlimited"')
        daemon.wait_to_say("needs a restart: frames.count, outbox.memory")
        status = daemon.wait_for_stored(many + 100)
        self.assertEqual(status["session"], before["session"])
        self.reload(daemon, "applied", forward={"rate": "unlimited"}, log={"level": "error"})
        so_far = daemon.said()
        self.stop_daemon(daemon)
        self.assertIn("the settings stay", so_far)
        self.assertEqual(daemon.said(), so_far, "nothing below an error is said at this level")
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(first | second)


if __name__ == "__main__":
    harness.main()
