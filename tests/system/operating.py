#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator meets: the receiver's file of options; a reload takes what it can; a disk that is not mounted; `koto-l3 status` and
`koto-l3 doctor`. Crashes and stops under load are the rows R11 and R17 of tests/fault, the status of every trouble its rows of headlines, starts
that cannot succeed rows of mistakes.py. Files that are removed under a running program, and folders that two programs share: spool_test,
block_receiver_test, ledger_place_test; every state of a row of status: tests/tools."""
import contextlib
import json
import re
import signal
import socket
import subprocess
import threading
import time

import harness
import own_space

FAILED, MISSING = 1, 69


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


class OnADisk(harness.SystemTest):
    """A folder on a disk of its own, which is not mounted at the start, or not any more."""
    store_is_whole = False

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.enter_space(own_space.MOUNTS)

    def mount(self, place):
        own_space.mount_small_disk(place, 64 << 20)
        self.addCleanup(self.unmount, place)

    def unmount(self, place):
        with contextlib.suppress(PermissionError):  # it is not mounted any more
            own_space.unmount(place)

    def sections(self):
        """What puts one of the daemon's folders on the disk."""
        spool = {"floor": "1 MiB", "size": "64 MiB", "segment": "1 MiB"}
        yield "spool", {"spool": {"folder": str(self.disk / "spool"), **spool}}
        yield "ledgers", {"run": {"ledger": f"{self.disk}/ledgers/"}, "spool": {"folder": ""}}

    def starts(self):
        """Each program with each of its folders on the disk."""
        daemons = [(harness.BIN / "koto-l3d", "--config", self.write_config(f"{name}.toml", **sections)) for name, sections in self.sections()]
        return [(harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.disk / "store"), *daemons]

    def assert_refused(self, start, text):
        p = self.keep(harness.Program(start, self.folder / "refused.log"))
        self.assertEqual(p.wait(), MISSING, p.said())
        self.assertIn(text, p.said())

    def test_a_service_makes_no_folder(self):
        """And it ends late: systemd gives up after five starts in a minute, and the disk may come later."""
        self.mount(self.disk)
        service, begun = {"INVOCATION_ID": "1", "NOTIFY_SOCKET": f"@{self.folder}"}, time.monotonic()
        for p in [self.keep(harness.Program(a, self.folder / f"{n}.log", service)) for n, a in enumerate(self.starts())]:
            self.assertEqual(p.wait(), MISSING, p.said())
            self.assertIn("it does not exist; mount its disk, or create it with", p.said())
            self.assertGreater(time.monotonic() - begun, 60 / 5)
        self.assertEqual(list(self.disk.iterdir()), [])

    def test_a_start_in_the_bare_place_of_a_disk_is_refused(self):
        """It is empty, or /etc/fstab lists the disk."""
        self.assert_refused(self.starts()[1], f"{self.disk} is empty, like the place of a disk that is not mounted")
        self.assertEqual(list(self.disk.iterdir()), [])
        table = self.folder / "fstab"
        table.write_text(f"# disks\n/dev/none {self.disk} ext4 nofail 0 2\n")
        own_space.mount_file(table, "/etc/fstab")
        self.addCleanup(own_space.unmount, "/etc/fstab")
        for name in "store", "spool", "ledgers":
            (self.disk / name).mkdir()
        for start in self.starts():
            self.assert_refused(start, f"{self.disk} is not mounted, although /etc/fstab lists it")

    def test_a_daemon_ends_when_the_disk_goes(self):
        for name, sections in self.sections():
            for change, sentence in ((lambda: own_space.unmount(self.disk), "the folder has disappeared"),
                                     (lambda: self.mount(self.disk / name), "the folder is on another disk than before")):
                with self.subTest(name, sentence=sentence):
                    self.ports = harness.Ports()
                    self.mount(self.disk)
                    daemon = self.start_daemon(**sections)
                    change()
                    self.assertEqual(daemon.wait(), FAILED, daemon.said())
                    self.assertRegex(daemon.said(), f"draining: {self.disk}/{name}/?: {sentence}")
                    self.unmount(self.disk / name)
                    self.unmount(self.disk)
                    self.assertEqual(list(self.disk.iterdir()), [])

    def test_a_receiver_ends_when_the_disk_goes(self):
        self.mount(self.disk)
        receiver, daemon = self.start_receiver(store=self.disk / "store"), self.start_daemon()
        sender, sent = self.udp_sender(daemon), self.make_events(20)
        self.send_events(sender, sent)
        daemon.wait_for_stored(20)
        own_space.unmount(self.disk)
        (self.disk / "store").mkdir()  # the receiver may look before it
        self.assertEqual(receiver.wait(), MISSING, receiver.said())
        self.assertRegex(receiver.said(), f"{self.disk}/store: the folder (is on another disk than before|has disappeared)")
        self.assertEqual(list((self.disk / "store").glob("blocks*")), [])


class Status(harness.SystemTest):
    def listener(self):
        return self.enterContext(socket.create_server((harness.HOST, 0)))

    def test_a_daemon_its_receiver_and_nodes_that_do_not_answer(self):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        its_url, = re.findall(r"monitoring on http://([\d.]+:\d+)/", receiver.said())
        daemon = self.start_daemon()
        self.send_events(self.udp_sender(daemon), self.make_events(40))
        daemon.wait_for_stored(40)
        garbage = self.listener()

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    with garbage.accept()[0] as c:
                        c.recv(1000)
                        c.sendall(b"SSH-2.0-other\r\n\r\n")
        threading.Thread(target=answer, daemon=True).start()
        mine, nobody = f"{harness.HOST}:{self.ports.monitor}", f"{harness.HOST}:{self.ports.udp}"
        silent, garbage_url = f"{harness.HOST}:{self.listener().getsockname()[1]}", f"{harness.HOST}:{garbage.getsockname()[1]}"

        def status(*urls):
            return self.ask_for_json("status", "--interval", "600 ms", *urls)[:2]
        harness.wait_until(lambda: status(its_url)[1]["nodes"][0]["state"] == "receiving, 1 of 1 daemons", "the daemon at the receiver")
        code, said = status(mine, its_url)
        self.assertEqual(code, 0, said)
        self.assertEqual([(n["program"], n["run"], n["state"], n["failure"]) for n in said["nodes"]],
                         [("koto-l3d", 7, daemon.status()["state"]["now"], None), ("koto-l3 receive", None, "receiving, 1 of 1 daemons", None)])
        text = self.tool("status", mine, its_url, says=r"(?m)^address +node +state +run +events/s +in MB/s +out MB/s +worst crate +disk$")
        self.assertEqual(len(text.splitlines()), 3, text)
        code, said = status(nobody, silent, garbage_url, "no.invalid:9420", mine)
        self.assertEqual(code, FAILED)
        for node, wanted in zip(said["nodes"], ("Connection refused", "no answer within 2 s", "does not speak HTTP", "", ""), strict=True):
            self.assertIn(wanted, node["failure"] or "")
        self.assertIn(f"{nobody}: critical, no_answer: Connection refused; check its service", self.run_tool("status", nobody)[1])

        watching = self.start_tool("status", "--watch", "--interval", "100 ms", mine)
        harness.wait_until(lambda: watching.said().count("worst crate") > 2, "three tables")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.wait(), 0, watching.said())
        self.assertNotIn("\033", watching.said(), "no terminal")


class Doctor(harness.SystemTest):
    def test_this_machine(self):
        config = self.write_config(udp={"bind": "0.0.0.0:42000"})
        code, said, _ = self.ask_for_json("doctor", "--config", config, "--store", self.store.parent)
        self.assertEqual(code, int(any(f["health"] == "bad" for f in said["findings"])), said)
        for f in said["findings"]:
            self.assertEqual(f["health"] != "ok", bool(f["remedy"]), f)
        self.assertLessEqual({"memory.locked", "clock", "device", "disk.room.spool.folder", "disk.room.store"}, {f["what"] for f in said["findings"]})
        self.tool("doctor", "--config", config, code=code, says=r"\d+ ok, \d+ warnings, \d+ bad\n$")


if __name__ == "__main__":
    harness.main()
