#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is not mounted at the start, or not any more: no event is written in its bare place. Files that are removed under a running
program, and folders that two programs share: spool_test, block_receiver_test, ledger_place_test."""
import contextlib
import time

import harness
import own_space

FAILED, MISSING = 1, 69


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


if __name__ == "__main__":
    harness.main()
