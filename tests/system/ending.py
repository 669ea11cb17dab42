#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every program ends in every state, in whatever way it is told to: the tables of docs/reliability.md, "How each program ends". Each row
is started once for each way, into a state in which it waits or works; all of a table run beside each other, get their signals, and must
be gone within twice the stated limit, with the exit code and the words of the row."""
import contextlib
import json
import os
import signal
import socket
import threading
import time

import harness

FAILED = 1
TERM, INT, HUP = signal.SIGTERM, signal.SIGINT, signal.SIGHUP
WAYS = {"SIGTERM": (TERM,), "SIGINT": (INT,), "SIGTERM twice": (TERM, TERM), "SIGINT twice": (INT, INT), "SIGHUP": (HUP,)}
SLOWER = 6 if harness.SANITIZED else 1
OF_A_COMMAND, DRAIN, BESIDE_IT = 10 * SLOWER, 2, 15  # seconds
OF_THE_DAEMON = (DRAIN + BESIDE_IT) * SLOWER

INTERRUPTED = {FAILED}, "interrupted"
CONNECTING = {FAILED}, "interrupted|cannot connect"
AT_THE_LIMIT = {FAILED}, "interrupted|still running 10 s after a signal: it ends now"
DONE = {0}, "blocks stored"
BY_THE_SIGNAL = {-s for s in (TERM, INT, HUP)}, ""
STORED_OR_ON_DISK = {0}, "draining"
GIVEN_UP = {FAILED}, "some events could not be forwarded"
ENDED_ITS_START = {0}, "stopped while its files were being read"


class Ending(harness.SystemTest):
    limit = OF_A_COMMAND

    def setUp(self):
        super().setUp()
        self.rows, self.file = [], self.write_events(self.make_events(30))

    def start(self, state, way, ends, *arguments, program="koto-l3"):
        log = self.folder / f"{len(self.rows)}.log"
        p = self.keep(harness.Program([harness.BIN / program, *arguments], log))
        self.rows.append((state, way, ends, p))
        return p

    def start_all(self, table, program="koto-l3"):
        """`table`: state, how it ends, and its arguments, in which OWN becomes a name that no other row has."""
        for state, ends, *arguments in table:
            for way in WAYS:
                own = self.folder / f"own-{len(self.rows)}"
                self.start(state, way, ends, *(str(a).replace("OWN", str(own)) for a in arguments), program=program)

    def pipe(self, name):
        path = self.folder / name
        os.mkfifo(path)
        return path

    def listener(self, serve=None, backlog=100):
        """Calls serve(connection) for each; unless that returns something, the connection is closed."""
        s = socket.create_server((harness.HOST, 0), backlog=backlog)
        self.addCleanup(s.close)

        def run():
            kept = []
            with contextlib.suppress(OSError):
                while True:
                    kept.append(s.accept()[0])
                    if serve(kept[-1]) is None:
                        kept.pop().close()
        if serve:
            threading.Thread(target=run, daemon=True).start()
        return f"tcp://{harness.HOST}:{s.getsockname()[1]}"

    def full_listener(self):
        """It answers no further connection."""
        to = self.listener(backlog=0)
        for _ in range(3):
            s = socket.socket()
            self.addCleanup(s.close)
            s.setblocking(False)
            s.connect_ex((harness.HOST, int(to.rsplit(":", 1)[1])))
        return to

    def long_files(self, folder, pattern, head=b""):
        """A gigabyte that has to be read, over and over: each pair of bytes may begin a block."""
        folder.mkdir()
        first = folder / pattern.format(4)
        with open(first, "wb") as file:
            file.write(head + b"KL3B" * (1 << 22))
        for n in range(5, 70):
            os.link(first, folder / pattern.format(n))
        return folder

    def all_end(self):
        time.sleep(1)  # into their states; a row that is not there yet proves less, and fails no more
        for turn in (0, 1):
            for _, way, _, p in self.rows:
                for number in WAYS[way][turn:turn + 1]:
                    p.signal(number)
            time.sleep(0.2)
        until = time.monotonic() + 2 * self.limit
        for state, way, (codes, words), p in self.rows:
            with self.subTest(state, way=way):
                self.assertIn(p.wait(max(0.1, until - time.monotonic())), codes, p.said())
                self.assertRegex(p.said(), words or "^$")
                self.assertLess(len(p.said()), 20_000, "it says what happens, and not over and over")


class Tools(Ending):
    def replay(self, to, *options):
        return "replay", self.file, "--to", to, *options

    def test_replay(self):
        def read_for_ever(c):
            threading.Thread(target=lambda: [None for _ in iter(lambda: c.recv(1 << 16), b"")], daemon=True).start()
            return True

        peers = {"does not answer connections": self.full_listener(), "is silent": self.listener(lambda c: True),
                 "never acknowledges": self.listener(read_for_ever), "accepts and closes": self.listener(lambda c: None)}
        # Without a receiver and a disk it soon takes no more: replay waits for its acknowledgements.
        self.start_daemon(frames={"count": 2, "events": 16}, outbox={"memory": "2 MiB", "block": "64 KiB"}, spool={"folder": ""})
        peers["has no room"] = f"tcp://{harness.HOST}:{self.ports.tcp}"
        for_ever = ("--rate", "unlimited", "--timeout", "1000000", "--loop", "60")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind((harness.HOST, 0))
            self.start_all([(f"replay to a peer that {state}", CONNECTING, *self.replay(to, *for_ever)) for state, to in peers.items()])
            self.start_all([("replay over UDP", INTERRUPTED, *self.replay(f"udp://{harness.HOST}:{deaf.getsockname()[1]}", "--rate", "0.1ev/s"))])
            self.all_end()

    def test_pipes(self):
        self.start_all([("pack a pipe", BY_THE_SIGNAL, "pack", self.pipe("input"), "OWN"),
                        ("simulate to a pipe", AT_THE_LIMIT, "simulate", self.pipe("output-1"), "--events", "3"),
                        ("extract to a pipe", AT_THE_LIMIT, "extract", self.filled_store(), self.pipe("output-2"))])
        self.all_end()

    def filled_store(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.run_replay(self.file)
        self.stop_daemon(daemon)
        receiver.stop()
        return self.store

    def test_at_work(self):
        self.start_all([
            ("simulate", INTERRUPTED, "simulate", "OWN", "--events", "1000000", "--spills", "100"),
            ("pack", BY_THE_SIGNAL, "pack", "/dev/zero", "/dev/null"),
            ("unpack", BY_THE_SIGNAL, "unpack", "/dev/zero", "/dev/null"),
            ("demo", INTERRUPTED, "demo", "--events", "100000", "--folder", "OWN")])
        self.start_all([("a measurement", BY_THE_SIGNAL, "building", "--rounds", "10000")], program="koto-l3-bench")
        self.all_end()

    def test_long_stores(self):
        whole = harness.store_file(self.filled_store())
        head = whole.read_bytes()
        store = self.long_files(self.folder / "long", "blocks-{:06}.kl3", head)
        self.start_all([("verify", INTERRUPTED, "verify", self.file, store), ("extract", INTERRUPTED, "extract", store, "OWN"),
                        ("info", INTERRUPTED, "info", store), ("inspect", INTERRUPTED, "inspect", store, "--event", "1/1"),
                        ("select", INTERRUPTED, "select", store), ("histograms", INTERRUPTED, "histograms", store),
                        ("efficiency", INTERRUPTED, "efficiency", store)])
        for n, way in enumerate(WAYS):
            self.start("receive", way, ENDED_ITS_START, "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver + n}",
                       "--out", self.long_files(self.folder / f"long-{n}", "blocks-{:06}.kl3", head))
        self.all_end()

    def test_receive(self):
        stores = []
        for way in WAYS:
            self.ports = harness.Ports()
            stores.append(self.folder / f"store-{len(stores)}")
            self.start("receive, a silent peer", way, DONE, "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", stores[-1])
            silent = harness.wait_until(lambda: harness.connected((harness.HOST, self.ports.receiver)), "the receiver")
            self.addCleanup(silent.close)
        self.all_end()
        for store in stores:
            self.assertTrue(json.loads((store / "ledger.json").read_text())["clean"], "its last ledger")


class Daemon(Ending):
    limit = OF_THE_DAEMON

    def daemons(self, state, ends, to=None, long_spool=False, load=False, run=None, **sections):
        """One for each way, each with ports and a folder of its own."""
        for way in WAYS:
            self.ports = harness.Ports()
            folder = self.folder / str(len(self.rows))
            folder.mkdir()
            if long_spool:
                self.long_files(folder / "spool", "spool-{:06}.kl3")
            settings = {"run": {"ledger": str(folder / "ledger.json"), "drain_time_limit": f"{DRAIN} s"},
                        "forward": {"to": to or f"tcp://{harness.HOST}:{self.ports.receiver}"}, "spool": {"folder": str(folder / "spool")},
                        "frames": {"count": 2, "events": 16}, "outbox": {"memory": "2 MiB", "block": "64 KiB"}}
            if run:  # "none" or "one" in force, with run control
                settings["run"] |= {"control": str(folder / "control"), "ledger": f"{folder}/ledgers/"}
            settings |= {name: settings.get(name, {}) | keys for name, keys in sections.items()}
            p = self.start(state, way, ends, "--config", self.write_config(f"{folder.name}/l3.toml", **settings), program="koto-l3d")
            if run == "one":
                p.wait_to_say("ready for runs")
                code, said = self.run_tool("run", "start", "--wait", "--socket", folder / "control")
                self.assertEqual(code, 0, said)
            if load:
                p.wait_to_say("ready")
                self.keep(harness.Program([harness.BIN / "koto-l3", "replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}",
                                           "--rate", "unlimited", "--loop", "60", "--timeout", "1000000"], folder / "replay.log"))

    def all_end(self):
        """A SIGHUP ends no daemon that runs: it reads its configuration again."""
        time.sleep(1)
        for _, way, _, p in self.rows:
            if way == "SIGHUP" and p.running() and p.catches(HUP):
                p.signal(HUP)
                time.sleep(0.05)
                self.assertTrue(p.running(), p.said())
                p.signal(TERM)
        super().all_end()

    def test_receivers(self):
        self.daemons("no receiver", STORED_OR_ON_DISK)
        self.daemons("a receiver that does not answer connections", STORED_OR_ON_DISK, self.full_listener())
        self.daemons("a receiver that is silent", STORED_OR_ON_DISK, self.listener(lambda c: True))
        self.daemons("a receiver that accepts and closes", STORED_OR_ON_DISK, self.listener(lambda c: None))
        self.all_end()

    def test_at_full_load(self):
        self.daemons("no receiver, and a disk", STORED_OR_ON_DISK, load=True)
        self.daemons("no receiver, and no disk", GIVEN_UP, load=True, spool={"folder": ""})
        self.daemons("no receiver, and a full disk", GIVEN_UP, load=True, spool={"floor": "16384 GiB"})
        self.all_end()

    def test_run_control(self):
        silent = self.listener(lambda c: True)
        self.daemons("no run", ({0}, "ready for runs(?s:.*)draining$"), silent, run="none")
        self.daemons("a run", ({0}, "has ended: events 0 = 0 stored"), silent, run="one")
        self.all_end()

    def test_starts(self):
        self.daemons("a long spool", ENDED_ITS_START, long_spool=True)
        self.all_end()


if __name__ == "__main__":
    harness.main()
