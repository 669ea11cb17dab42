#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts that cannot succeed say why and with which exit code; stops under load lose nothing."""
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import harness
import level2
from harness import nonzero

MISSING_RESOURCE, BAD_CONFIGURATION = 69, 78


class Start(harness.SystemTest):
    def start(self, config, code, *texts):
        p = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config], self.folder / "daemon.log"))
        self.assertEqual(p.wait(), code, p.said())
        for text in texts:
            self.assertIn(text, p.said())
        self.assertLessEqual(len(p.said().splitlines()), 17, p.said())  # the memory plan and a sentence

    def test_the_service_manager_is_told_the_state(self):
        path = self.folder / "manager"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(path))
        manager.settimeout(harness.PATIENCE)
        daemon = self.start_daemon({"NOTIFY_SOCKET": str(path)})

        def told():
            return manager.recv(4096).decode()
        harness.wait_until(lambda: told().startswith("STATUS=run 7: receiving, degraded: receiver_absent, 0 events"), "the state")
        self.start_receiver()
        harness.wait_until(lambda: told() == "STATUS=run 7: receiving, 0 events", "the receiver")
        self.assertEqual(daemon.stop(), 0)

    def test_configurations_that_are_wrong(self):
        config = self.write_config(forward={"rat": "4 Gb/s"})
        self.start(config, BAD_CONFIGURATION, f"{config}:", "forward.rat is not a key; did you mean forward.rate?")
        config = self.write_config(frames={"count": 1})
        self.start(config, BAD_CONFIGURATION, f"{config}:", "frames.count = 1 is out of range 2..64")
        config = self.write_config(readout={"crates": ["0-1: 3 x 126 MHz"]})
        self.start(config, BAD_CONFIGURATION, f"{config}:", "readout.crates")
        config.write_text("[run\nnumber = 1\n")
        self.start(config, BAD_CONFIGURATION, f"{config}:1")
        config.write_bytes(os.urandom(1000))
        self.start(config, BAD_CONFIGURATION, f"{config}:")

    def test_configurations_that_cannot_be_read(self):
        self.start(self.folder / "nowhere.toml", BAD_CONFIGURATION, "nowhere.toml")
        self.start(self.folder, BAD_CONFIGURATION, str(self.folder))
        if os.geteuid() != 0:
            config = self.write_config()
            config.chmod(0)
            self.start(config, BAD_CONFIGURATION, str(config))

    def test_the_configuration_that_is_printed_is_one(self):
        config = self.write_config()
        p = harness.Program([harness.BIN / "koto-l3d", "--config", config, "--print-config"], self.folder / "print.log")
        self.assertEqual(p.wait(), 0)
        printed = self.folder / "printed.toml"
        printed.write_text(p.said())
        p = harness.Program([harness.BIN / "koto-l3d", "--config", printed, "--check-config"], self.folder / "check.log")
        self.assertEqual(p.wait(), 0, p.said())

    def test_more_memory_than_there_is(self):
        config = self.write_config(outbox={"memory": "1024 GiB"})
        wrong = "koto-l3d: the configuration needs 1"
        self.start(config, MISSING_RESOURCE, wrong, "of memory or more", "lower outbox.memory")
        p = self.check(config)
        self.assertEqual((p.returncode, p.stdout), (MISSING_RESOURCE, ""), p.stderr)
        self.assertIn(wrong, p.stderr)

    def check(self, config):
        return subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True, timeout=harness.PATIENCE)

    def test_places_that_cannot_be(self):
        file, none = self.folder / "file", self.folder / "none"
        file.write_text("no folder")
        for sections, text in (({"spool": {"folder": str(file), "size": "64 MiB", "floor": "0 B"}}, f"{file}"),
                               ({"run": {"control": str(none / "s"), "ledger": f"{self.folder}/ledgers/"}}, "(run.control)"),
                               ({"run": {"ledger": str(none / "ledger.json")}}, "run.ledger: cannot write")):
            with self.subTest(text, **sections):
                self.start(self.write_config(**sections), MISSING_RESOURCE, text)

    def test_a_receiver_whose_name_has_no_address(self):
        name = "x" * 64  # one more than DNS knows: no name server is asked
        daemon = self.start_daemon(forward={"to": f"tcp://{name}:42200"})
        text = f"the name in tcp://{name}:42200 (forward.to) has no address"
        daemon.wait_for(lambda s: s["problem"] and text in s["problem"]["text"], "the name in /status")
        daemon.wait_to_say(f"output link: the name {name} (forward.to) has no address here: ")
        self.assertEqual(daemon.stop(), 0)

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

    def test_a_second_daemon_on_the_same_ports(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.start(self.write_config("second.toml"), MISSING_RESOURCE, "in use")
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 61)
        sent = {(1, n): maker.fragments(1, n) for n in range(1, 21)}
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments)
        sender.end(1, 20)
        daemon.wait_for_stored(20)
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)

    def test_a_second_receiver(self):
        first, daemon = self.start_receiver(), self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 62)
        other = self.folder / "other"
        sent = {}
        for number in range(1, 101):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
            if number == 40:  # on the same port
                second = self.start_receiver(store=other, listening=False)
                self.assertEqual(second.wait(), MISSING_RESOURCE, second.said())
                self.assertIn("in use", second.said())
            if number == 60:  # on the same folder
                second = self.keep(harness.Program(
                    [harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver + 1}",
                     "--out", self.store], self.folder / "second.log"))
                self.assertEqual(second.wait(), MISSING_RESOURCE, second.said())
                self.assertIn(str(self.store), second.said())
        sender.end(1, 100)
        daemon.wait_for_stored(100)
        self.stop_daemon(daemon)
        self.assertEqual(first.stop(), 0)
        self.assert_stored(sent)

    def test_a_receiver_with_less_memory_than_it_may_need(self):
        p = self.keep(harness.Program(["prlimit", f"--as={1 << 30}", harness.BIN / "koto-l3", "receive", "--bind",
                                       f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.store], self.folder / "receiver.log"))
        p.wait_to_say("has 1024 MiB, less than that: it would end where peers send all that they may")
        self.assertEqual(p.stop(), 0, p.said())

    def test_a_receiver_that_cannot_start(self):
        p = self.start_receiver(store=self.folder / "no" / "such" / "place", listening=False)
        self.assertEqual(p.wait(), MISSING_RESOURCE, p.said())
        file = self.folder / "file"
        file.write_text("not a folder")
        p = self.start_receiver(store=file, listening=False)
        self.assertEqual(p.wait(), MISSING_RESOURCE, p.said())

    def test_another_receiver_with_an_empty_folder_takes_over(self):
        """The first receiver's machine is lost: what it acknowledged is its own; the rest goes to the next."""
        first = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 63)
        sent = {}
        for number in range(1, 201):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
            if number == 100:
                daemon.wait_for_stored(100)
                first.kill()
                self.start_receiver(store=self.folder / "second")
        sender.end(1, 200)
        daemon.wait_for_stored(200)
        self.stop_daemon(daemon)
        events = [e for name in ("store", "second") for e in harness.store_reader.events_of(self.folder / name, whole=False)]
        self.assertEqual(sorted((e.spill, e.number) for e in events), sorted(sent))


class Descriptors(harness.SystemTest):
    """A process may have a limited number of them."""

    def test_a_start_that_they_do_not_suffice_for_names_the_limit(self):
        p = subprocess.run(["prlimit", "--nofile=8:8", harness.BIN / "koto-l3d", "--config", self.write_config()], capture_output=True,
                           text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, 69, p.stderr)
        self.assertIn("Too many open files: this process may have 8 at once; raise LimitNOFILE of its unit, or `ulimit -n`", p.stderr)

    def test_a_daemon_that_had_none_for_a_sender_accepts_it_later(self):
        daemon = self.start_daemon()
        daemon.limit("nofile", 10)
        with socket.create_connection((harness.HOST, self.ports.tcp), timeout=harness.PATIENCE):
            daemon.limit("nofile", 1024)
        self.stream_sender(run=7).connect()


class Stop(harness.SystemTest):
    def load(self, daemon, sender, maker):
        """A thread that sends without a pause until it is told to stop; the stop and what was sent."""
        sent, stop = {}, threading.Event()

        def send():
            number = 0
            while not stop.is_set():
                number += 1
                sent[1, number] = maker.fragments(1, number)
                try:
                    sender.event(1, number, sent[1, number])
                except (OSError, TimeoutError):
                    return  # the daemon's sockets are gone
        thread = threading.Thread(target=send)
        thread.start()

        def end():
            stop.set()
            thread.join()
        self.addCleanup(end)
        return end, sent

    def stop_under_load(self, with_receiver, time_limit, **sections):
        receiver = self.start_receiver() if with_receiver else None
        daemon = self.start_daemon(run={"drain_time_limit": time_limit}, **sections)
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 64)
        end, sent = self.load(daemon, sender, maker)
        daemon.wait_for(lambda s: s["events"]["admitted"] > 300, "load")
        code = daemon.stop()
        end()
        ledger = daemon.ledger()
        self.assertEqual(code, 1 if ledger["events"]["shed"]["drain"] else 0, daemon.said())
        self.assertTrue(ledger["balanced"], ledger)
        self.assert_conserved(ledger)
        self.assertEqual(ledger["events"]["in_flight"], ledger.get("spool", {}).get("waiting", 0))
        if receiver:
            receiver.stop()
        return ledger, sent

    def test_sigterm_at_full_load_loses_nothing_that_was_admitted(self):
        ledger, sent = self.stop_under_load(True, "10 s")
        self.assertTrue(ledger["clean"])
        self.assertEqual(nonzero(ledger["events"]["shed"]), {})
        found = self.stored()
        self.assertEqual(len(found), ledger["events"]["admitted"])
        self.assert_stored({key: sent[key] for key in found})

    def test_sigterm_without_a_receiver_leaves_everything_on_disk(self):
        ledger, _ = self.stop_under_load(False, "10 s")
        self.assertTrue(ledger["clean"])
        self.assertEqual(nonzero(ledger["events"]["shed"]), {})
        self.assertEqual(ledger["spool"]["waiting"], ledger["events"]["admitted"])

    def test_sigterm_without_receiver_and_disk_counts_what_is_given_up(self):
        ledger, _ = self.stop_under_load(False, "1 s", spool={"folder": ""})
        self.assertEqual(ledger["events"]["forwarded"], 0)
        self.assertEqual(nonzero(ledger["events"]["shed"]), {"drain": ledger["events"]["admitted"]})

    def test_no_trouble_is_over_because_the_daemon_ends(self):
        """Neither the full outbox nor the missing frame ended: their events were given up."""
        daemon = self.start_daemon(run={"drain_time_limit": "1 s"}, spool={"folder": ""}, outbox={"memory": "4 MiB", "block": "64 KiB"},
                                   frames={"count": 2, "events": 8})
        end, _ = self.load(daemon, self.udp_sender(daemon), level2.EventMaker(self.crates, 65))
        daemon.wait_for(lambda s: {"outbox_full", "no_frame"} <= set(s["state"]["degraded"]), "a full outbox and no frame")
        self.assertEqual(daemon.stop(), 1, daemon.said())
        end()
        at_the_end = daemon.said().split("SIGTERM: draining")[1]
        self.assertIn("0 stored", at_the_end)
        self.assertNotIn("is over", at_the_end)

    def test_a_signal_during_the_start_ends_what_has_started(self):
        p = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", self.write_config()], self.folder / "daemon.log"))
        harness.wait_until(lambda: p.catches(signal.SIGTERM), "the daemon catches SIGTERM")
        self.assertEqual(p.stop(), 0, p.said())
        self.assertIn("SIGTERM: draining", p.said())

    def test_a_second_signal_does_not_cut_the_drain_short(self):
        daemon = self.start_daemon(run={"drain_time_limit": "3 s"}, spool={"folder": ""})  # nobody receives
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 66)
        for number in range(1, 11):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for(lambda s: s["events"]["admitted"] == 10, "10 events")
        daemon.signal(signal.SIGTERM)
        daemon.wait_to_say("SIGTERM: draining")
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon.signal(number)
        self.assertEqual(daemon.wait(), 1, daemon.said())
        ledger = daemon.ledger()
        self.assertEqual(nonzero(ledger["events"]["shed"]), {"drain": 10})
        self.assertTrue(ledger["balanced"])

    def test_a_killed_daemon_leaves_no_ledger_of_an_earlier_run(self):
        daemon = self.start_daemon()
        self.stop_daemon(daemon)
        before = daemon.ledger()
        daemon = self.start_daemon()
        daemon.wait_to_say("ready: run")  # /readyz answers a moment before the new ledger is written
        daemon.kill()
        after = daemon.ledger()
        self.assertNotEqual(after["session"], before["session"])
        self.assertFalse(after["clean"])

    def test_a_start_after_a_kill_says_what_it_cost(self):
        receiver = self.start_receiver()
        few = {"outbox": {"memory": "1 MiB", "block": "16 KiB"}}
        daemon = self.start_daemon(**few)
        self.assertNotIn("did not end properly", daemon.said())
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 68), {}

        def send(events):
            for number in range(len(sent) + 1, len(sent) + 1 + events):
                sent[1, number] = maker.fragments(1, number)
                sender.event(1, number, sent[1, number])

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
        daemon.wait_to_say(f"of {admitted} events admitted, {forwarded} forwarded, {rejected} rejected, {shed} shed, {on_disk} on disk (kept); "
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

    def test_a_start_that_fails_at_its_ledger_leaves_the_crash_to_the_next_one(self):
        """No file may grow beyond 300 bytes, as on a full disk: a record fits, a ledger does not."""
        ledgers = self.folder / "ledgers"
        how = {"run": {"ledger": f"{ledgers}/"}, "spool": {"folder": ""}}
        daemon = self.start_daemon(**how)
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 69)
        for number in range(1, 51):
            sender.event(1, number, maker.fragments(1, number))
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

    def test_sigterm_over_tcp_leaves_the_rest_to_the_next_daemon(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        maker, sent = level2.EventMaker(self.crates, 65), {}
        sender = self.stream_sender(run=7).connect()
        sender.begin(1)
        for number in range(1, 301):
            sent[1, number] = maker.fragments(1, number)
            if number in (100, 200):
                sender.close()
                self.stop_daemon(daemon)
                daemon = self.start_daemon()
                sender.reconnect()
            sender.event(1, number, sent[1, number])
        sender.wait_for_acknowledgement(sender.end(1, 300))
        self.stop_daemon(daemon)
        receiver.stop()
        events = harness.store_reader.events_of(self.store)
        self.assertEqual({(e.spill, e.number) for e in events}, set(sent))
        self.assert_extracted(sent)


class Ledgers(harness.SystemTest):
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
        self.reload_as_it_is(daemon, outcome)

    def reload_as_it_is(self, daemon, outcome):
        series = f'koto_l3_reloads_total{{outcome="{outcome}"}}'
        before = daemon.metrics()[series]
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: daemon.metrics()[series] > before, f"reload {outcome}")

    def test_a_new_rate_and_level_take_effect_and_a_bad_file_none(self):
        receiver = self.start_receiver()
        slow = {"rate": "1 Mb/s"}
        daemon = self.start_daemon(forward=slow)
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 67), {}

        def send(spill, events):
            for number in range(1, events + 1):
                sent[spill, number] = maker.fragments(spill, number)
                sender.event(spill, number, sent[spill, number])
            sender.end(spill, events)

        many = 25 * harness.PATIENCE
        send(1, many)
        before = daemon.status()
        self.reload(daemon, "refused", forward={"rate": "unlimited"}, frames={"count": 1}, log={"level": "debug"})
        daemon.wait_to_say(re.compile(rf"{self.folder}/l3.toml:\d+:\d+: frames.count = 1 is out of range"))
        daemon.wait_to_say("the settings stay as they are")
        send(2, 100)
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
        self.assert_stored(sent)

    def hostile_files(self):
        """Name -> file: what no reader of settings may follow to its end."""
        texts = {"mistakes": "[forward]\n" + "".join(f"k{n} = 1\n" for n in range(60_000))}
        files = {name: self.folder / name for name in (*texts, "long", "pipe", "folder")}
        for name, text in texts.items():
            files[name].write_text(text)
        with open(files["long"], "wb") as f:
            f.truncate(1_200_000_000)
        os.mkfifo(files["pipe"])
        files["folder"].mkdir()
        good = harness.HERE.parents[1] / "deploy/selection.toml"
        return {**files, "device": "/dev/zero", "made up": "/proc/version", "none": self.folder / "none", "NUL": f"{good}\0x"}

    def refused(self, daemon):
        """Tells the daemon to read its configuration again, and waits until it has refused it."""
        said = "is not taken, the settings stay as they are"
        before = daemon.said().count(said)
        daemon.signal(signal.SIGHUP)
        harness.wait_until(lambda: daemon.said().count(said) > before, "the refusal")

    def test_files_that_no_reader_can_follow_to_their_end_change_nothing(self):
        files = self.hostile_files()
        daemon = self.start_daemon()
        daemon.wait_to_say("ready: run")
        before = daemon.memory()
        config = daemon.config.read_text()
        for key in ("lines", "detector", "calibration", "secret_key", "receiver_key"):
            for name, file in files.items():
                with self.subTest(key=key, file=name):
                    if key.endswith("_key"):
                        self.write_config(forward={"secret_key": "none", "receiver_key": "none", key: str(file)})
                    else:
                        self.write_config(selection={"lines": "built-in", key: str(file)})
                    self.refused(daemon)
        for name, file in files.items():
            if name == "NUL":
                continue  # no argument of a program can have one
            with self.subTest(key="--config", file=name):
                link = self.folder / "link"
                link.symlink_to(file)
                link.replace(daemon.config)
                self.refused(daemon)
        if not harness.SANITIZED:  # a sanitizer keeps what is freed
            self.assertLess(daemon.memory() - before, 16 << 20, "what it read is not kept")
        (self.folder / "good").write_text(config)
        (self.folder / "good").replace(daemon.config)
        self.reload_as_it_is(daemon, "applied")
        self.assertEqual(self.stop_daemon(daemon)["events"]["admitted"], 0)


if __name__ == "__main__":
    harness.main()
