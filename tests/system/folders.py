#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders and files of programs that run: each belongs to one program, and one that is removed meanwhile ends its program with a
sentence. Such a removal is an operator's error; nothing is made anew, and `verify` and the ledgers show what is missing. A missing
folder may lie on a disk that is not mounted."""
import contextlib
import shutil
import time
import unittest

import harness
import own_space

FAILED, MISSING = 1, 69


class Removed(harness.SystemTest):
    store_is_whole = False

    def test_a_store_that_is_removed_while_it_is_written_ends_the_receiver(self):
        """The events that it had acknowledged went with its file; the others come again to the next receiver."""
        for remove in (lambda: max(self.store.glob("blocks-*.kl3")).unlink(), lambda: shutil.rmtree(self.store)):
            self.ports = harness.Ports()
            receiver, daemon = self.start_receiver(), self.start_daemon()
            sender, lost, kept = self.udp_sender(daemon), self.make_events(30, 1), self.make_events(30, 2)
            self.send_events(sender, lost)
            sender.end(1, 30)
            daemon.wait_for_stored(30)
            remove()
            self.send_events(sender, kept)
            sender.end(2, 30)
            self.assertEqual(receiver.wait(), MISSING)
            self.assertRegex(receiver.said(), f"{self.store}: (an open file of the store was removed|the folder has disappeared)")
            receiver = self.start_receiver()
            daemon.wait_for_stored(60)
            self.end_and_compare(daemon, receiver, kept)
            shutil.rmtree(self.store)

    def test_a_segment_of_a_spool_that_is_removed_ends_the_daemon(self):
        daemon, file = self.start_daemon(outbox={"memory": "1 MiB", "block": "64 KiB"}), self.write_events(self.make_events(500))
        self.run_replay(file)
        segment = min((self.folder / f"spool-{self.ports.tcp}").glob("spool-*.kl3"))
        segment.unlink()
        receiver = self.start_receiver()
        self.assertEqual(daemon.wait(), FAILED, daemon.said())
        self.assertIn(f"draining: {segment} was removed while the daemon used it", daemon.said())
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        self.assertEqual((ledger["ended"], ledger["clean"]), (True, False))
        daemon = self.start_daemon()
        daemon.wait_to_say("are missing from the spool")
        self.assertEqual(daemon.stop(), FAILED, "blocks that were acknowledged are gone: " + daemon.said())
        self.assertGreater(daemon.ledger()["spool"]["gone"], 0)
        self.assertEqual(receiver.stop(), 0)
        self.assertNotEqual(self.run_tool("verify", file, self.store)[0], 0)


class OnADisk(harness.SystemTest):
    """A folder on a disk of its own, which is not mounted at the start, or not any more."""
    store_is_whole = False

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        try:
            own_space.enter(own_space.MOUNTS)
        except PermissionError as e:
            raise unittest.SkipTest(f"no right to mount: {e.strerror}") from None

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

    def refused(self, *arguments, environment=None):
        p = self.keep(harness.Program(arguments, self.folder / "refused.log", environment))
        self.assertEqual(p.wait(), MISSING, p.said())
        return p.said()

    def receiver(self):
        return harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.disk / "store"

    def test_a_start_in_a_bare_place_is_refused(self):
        _, sections = next(self.sections())
        said = self.refused(harness.BIN / "koto-l3d", "--config", self.write_config("bare.toml", **sections))
        self.assertIn(f"{self.disk} is empty, like the place of a disk that is not mounted", said)
        self.assertEqual(list(self.disk.iterdir()), [])

    def starts(self):
        """Of each program with each of its folders on the disk."""
        daemons = [(harness.BIN / "koto-l3d", "--config", self.write_config(f"{name}.toml", **sections)) for name, sections in self.sections()]
        return [self.receiver(), *daemons]

    def test_a_service_makes_no_folder(self):
        """And it ends late: systemd gives up after five starts in a minute, and the disk may come later."""
        self.mount(self.disk)
        service, begun = {"INVOCATION_ID": "1", "NOTIFY_SOCKET": f"@{self.folder}"}, time.monotonic()
        for p in [self.keep(harness.Program(a, self.folder / f"{n}.log", service)) for n, a in enumerate(self.starts())]:
            self.assertEqual(p.wait(), MISSING, p.said())
            self.assertIn("it does not exist; mount its disk, or create it with", p.said())
            self.assertGreater(time.monotonic() - begun, 60 / 5)
        self.assertEqual(list(self.disk.iterdir()), [])

    def test_a_start_without_a_disk_that_the_machine_should_have_is_refused(self):
        table = self.folder / "fstab"
        table.write_text(f"# disks\n/dev/none {self.disk} ext4 nofail 0 2\n")
        own_space.mount_file(table, "/etc/fstab")
        self.addCleanup(own_space.unmount, "/etc/fstab")
        for name in "store", "spool", "ledgers":
            (self.disk / name).mkdir()
        for arguments in self.starts():
            self.assertIn(f"{self.disk} is not mounted, although /etc/fstab lists it", self.refused(*arguments))

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
        (self.disk / "store").mkdir()
        self.assertEqual(receiver.wait(), MISSING, receiver.said())
        self.assertIn(f"{self.disk}/store: the folder is on another disk than before", receiver.said())
        self.assertEqual(list((self.disk / "store").glob("blocks*")), [])


class Shared(harness.SystemTest):
    def test_each_belongs_to_one_program(self):
        first, receiver = self.start_daemon(), self.start_receiver()
        harness.wait_until(first.ledger_file.exists, "its first ledger")
        session, spool, mine = first.ledger()["session"], self.folder / f"spool-{self.ports.tcp}", self.ports
        store = self.folder / "other-store"
        store.mkdir()
        (store / "blocks-000001.kl3").touch()
        for sections, sentence in (
                ({"run": {"ledger": ""}, "spool": {"folder": str(spool)}}, "in use by another daemon: give each its own"),
                ({"spool": {"folder": ""}}, f"{first.ledger_file} is in use by another daemon: give each its own run.ledger"),
                ({"run": {"ledger": ""}, "spool": {"folder": str(store)}}, "it is a store: blocks-000001.kl3 is one of its files")):
            with self.subTest(sentence):
                self.ports = harness.Ports()
                second = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", self.write_config("other.toml", **sections)],
                                                   self.folder / "second.log"))
                self.assertNotEqual(second.wait(), 0)
                self.assertIn(sentence, second.said())
        self.ports = mine
        sent, sender = self.make_events(20), self.udp_sender(first)
        self.send_events(sender, sent)
        sender.end(1, 20)
        first.wait_for_stored(20)
        self.assertEqual(self.end_and_compare(first, receiver, sent)["session"], session)


if __name__ == "__main__":
    harness.main()
