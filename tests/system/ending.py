#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM ends every program in every state: each row of the tables starts a program into a state in which it waits or works; all
rows run beside each other, get the signal, and must be gone."""
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time

import harness
import l2raw
import level2

FAILED, MISSING, BAD = 1, 69, 78


class Ending(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.rows = []
        maker = level2.EventMaker(self.crates, 81)
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {1: [maker.fragments(1, n) for n in range(1, 31)]})

    def start(self, state, codes, *arguments, program="koto-l3"):
        """`codes`: those with which it may end; a negative one is a signal's."""
        log = self.folder / f"{len(self.rows)}.log"
        p = self.keep(harness.Program([harness.BIN / program, *arguments], log))
        self.rows.append((state, codes, p))

    def pipe(self, name):
        path = self.folder / name
        os.mkfifo(path)
        return path

    def listener(self, serve=None, backlog=100):
        s = socket.socket()
        self.addCleanup(s.close)
        s.bind((harness.HOST, 0))
        s.listen(backlog)

        def run():
            kept = []
            while True:
                try:
                    kept.append(s.accept()[0])
                except OSError:
                    return
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

    def all_end(self):
        time.sleep(1)  # into their states; a row that is not there yet proves less, and fails no more
        for _, _, p in self.rows:
            p.signal(signal.SIGTERM)
        for state, codes, p in self.rows:
            with self.subTest(state):
                self.assertIn(p.wait(), codes, p.said())
                self.assertLess(len(p.said()), 20_000, "it says what happens, and not over and over")


class Tools(Ending):
    def test_replay(self):
        def read_for_ever(c):
            threading.Thread(target=lambda: [None for _ in iter(lambda: c.recv(1 << 16), b"")], daemon=True).start()
            return True

        peers = {"a peer that does not answer connections": self.full_listener(), "a peer that is silent": self.listener(lambda c: True),
                 "a peer that never acknowledges": self.listener(read_for_ever), "a peer that accepts and closes": self.listener(lambda c: None)}
        for state, to in peers.items():
            self.start(f"replay to {state}", {FAILED, -signal.SIGTERM}, "replay", self.file, "--to", to, "--rate", "max", "--timeout", "1000000")
        self.start("replay over UDP", {FAILED}, "replay", self.file, "--to", "udp://127.0.0.1:9", "--rate", "0.1ev/s")
        self.all_end()

    def test_pipes_as_files(self):
        pipe = self.pipe("pipe")
        store = self.folder / "piped"
        store.mkdir()
        (store / "blocks-000001.kl3").symlink_to(pipe)
        ended = {FAILED, MISSING, BAD}
        stopped = {FAILED, MISSING, -signal.SIGTERM}
        to = ("--to", f"tcp://{harness.HOST}:{self.ports.tcp}")
        for arguments in (("replay", pipe, *to), ("replay", pipe, "--on", "pool"), ("verify", pipe, store),
                          ("verify", self.file, store), ("extract", store, self.folder / "e"),
                          ("verify", self.file, self.folder, "--ledger", pipe), ("select", pipe), ("evaluate", pipe),
                          ("evaluate", self.file, "--truth", pipe), ("simulate", self.folder / "a", "--waveforms", pipe),
                          ("simulate", self.folder / "a", "--detector", pipe),
                          ("receive", "--out", self.folder / "b", "--secret-key", pipe, "--allow", pipe)):
            self.start(" ".join(map(str, arguments)), ended, *arguments)
        outputs = [self.pipe(f"output-{n}") for n in range(3)]
        for arguments in (("pack", pipe, self.folder / "c"), ("pack", self.file, outputs[0]), ("unpack", pipe, self.folder / "d"),
                          ("simulate", outputs[1], "--events", "3"), ("extract", self.filled_store(), outputs[2])):
            self.start(" ".join(map(str, arguments)), stopped, *arguments)
        self.all_end()

    def filled_store(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        code, said = self.run_tool("replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        self.stop_daemon(daemon)
        receiver.stop()
        return self.store

    def test_at_work(self):
        many = "1000000"
        self.start("simulate", {FAILED}, "simulate", self.folder / "many", "--events", many, "--spills", "100")
        self.start("pack", {0, -signal.SIGTERM}, "pack", "/dev/zero", "/dev/null")
        self.start("unpack", {FAILED, -signal.SIGTERM}, "unpack", "/dev/zero", "/dev/null")
        bind = f"tcp://{harness.HOST}:{self.ports.receiver}"
        self.start("receive, a silent peer", {0}, "receive", "--bind", bind, "--out", self.folder / "silent")
        address = (harness.HOST, self.ports.receiver)
        silent = harness.wait_until(lambda: connected(address), "the receiver")
        self.addCleanup(silent.close)
        other = self.folder / "piped"
        other.mkdir()
        os.mkfifo(other / "ledger.json.new")
        self.start("receive, a pipe in the way of its ledger", {0, FAILED}, "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver + 1}",
                   "--out", other)
        self.all_end()


def connected(address):
    s = socket.socket()
    if s.connect_ex(address) == 0:
        return s
    s.close()
    return None


class Daemon(Ending):
    def daemon(self, state, codes, to=None, pipe=None, **sections):
        """With ports and a folder of its own, in which a pipe may have the name of one of its files."""
        self.ports = harness.Ports()
        folder = self.folder / str(len(self.rows))
        folder.mkdir()
        if pipe:
            os.mkfifo(folder / pipe)
        config = self.write_config(f"{folder.name}.toml", run={"ledger": str(folder / "ledger.json"), "drain_time_limit": "2 s"},
                                   forward={"to": to or f"tcp://{harness.HOST}:{self.ports.receiver}"},
                                   spool={"folder": str(folder / "spool")}, frames={"count": 2, "events": 16},
                                   outbox={"memory": "2 MiB", "block": "64 KiB"}, **sections)
        self.start(state, codes, "--config", config, program="koto-l3d")

    def test_receivers(self):
        self.daemon("no receiver", {0})
        self.daemon("a receiver that does not answer connections", {0}, self.full_listener())
        self.daemon("a receiver that is silent", {0}, self.listener(lambda c: True))
        self.daemon("a receiver that accepts and closes", {0}, self.listener(lambda c: None))
        self.all_end()

    def test_a_log_that_no_program_reads(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, bytes(1 << 16))
        os.set_blocking(writing, True)
        config = self.write_config(run={"drain_time_limit": "1 s"})
        daemon = subprocess.Popen([harness.BIN / "koto-l3d", "--config", config], stdout=writing, stderr=writing)
        self.addCleanup(daemon.kill)
        os.close(writing)
        time.sleep(1)  # into its first line
        daemon.terminate()
        self.assertEqual(daemon.wait(harness.PATIENCE), FAILED)

    def test_pipes(self):
        pipe = self.pipe("pipe")
        self.start("a pipe as configuration", {BAD}, "--config", pipe, program="koto-l3d")
        self.daemon("a pipe as selection", {BAD}, selection={"lines": str(pipe)})
        for name in ("ledger.json", "ledger.json.trial", "ledger.json.new", "ledger.json.live"):
            self.daemon(f"a pipe as {name}", {0, FAILED, MISSING}, pipe=name)
        self.all_end()


if __name__ == "__main__":
    harness.main()
