#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each signal ends each program in each state: docs/reliability.md, "How each program ends". A row is a state, in which a
program waits or works, and the end that must follow. Each row is started once for each way; all of a table run beside each other, get
their signals, and must be gone within twice the stated limit. And what becomes of daemon and receiver whose output no program reads any
more: the pipe is full, or its reader has gone."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import harness
from harness import connected

FAILED = 1
TERM, INT, HUP = signal.SIGTERM, signal.SIGINT, signal.SIGHUP
WAYS = {"SIGTERM": (TERM,), "SIGINT twice": (INT, INT), "SIGHUP": (HUP,)}
SLOWER = 6 if harness.SANITIZED else 1
OF_A_COMMAND, DRAIN, BESIDE_IT = 10 * SLOWER, 2, 15  # seconds
OF_THE_DAEMON = (DRAIN + BESIDE_IT) * SLOWER

# (exit codes, words)
INTERRUPTED = {FAILED}, "interrupted"
CONNECTING = {FAILED}, "interrupted|cannot connect"
AT_THE_LIMIT = {FAILED}, "interrupted|still running 10 s after a signal: it ends now"
BY_THE_SIGNAL = {-s for s in (TERM, INT, HUP)}, ""
STORED_OR_ON_DISK = {0}, "draining"
GIVEN_UP = {FAILED}, "some events could not be forwarded"
ENDED_ITS_START = {0}, "stopped while its files were being read"
WITHOUT_A_RUN = {0}, "ready for runs(?s:.*)draining$"


class Ending(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.rows, self.file = [], self.write_events(self.make_events(30))

    def start(self, state, way, ends, program, *arguments):
        p = self.keep(harness.Program([harness.BIN / program, *arguments], self.folder / f"{len(self.rows)}.log"))
        self.rows.append((state, way, ends, p))
        return p

    def listener(self, serve=None, backlog=100):
        """Calls serve(connection) for each; unless that returns something, the connection is closed."""
        s = self.enterContext(socket.create_server((harness.HOST, 0), backlog=backlog))

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
            s = self.enterContext(socket.socket())
            s.setblocking(False)
            s.connect_ex((harness.HOST, int(to.rsplit(":", 1)[1])))
        return to

    def long_files(self, folder, pattern, head=b""):
        """A gigabyte that has to be read, over and over: each pair of bytes may begin a block. A spool cuts off what it
        cannot read, which is then short under each of its names: one file alone takes some seconds."""
        folder.mkdir(parents=True)
        first = folder / pattern.format(4)
        with open(first, "wb") as file:
            file.write(head + b"KL3B" * (1 << 24))
        for n in range(5, 20):
            os.link(first, folder / pattern.format(n))
        return folder

    def all_end(self, limit):
        time.sleep(1)  # into their states; a row that is not there yet proves less, and fails no more
        for turn in (0, 1):
            for _, way, _, p in self.rows:
                for number in WAYS[way][turn:turn + 1]:
                    p.signal(number)
            time.sleep(0.2)
        until = time.monotonic() + 2 * limit
        for state, way, (codes, words), p in self.rows:
            with self.subTest(state, way=way):
                self.assertIn(p.wait(max(0.1, until - time.monotonic())), codes, p.said())
                self.assertRegex(p.said(), words or "^$")
                self.assertLess(len(p.said()), 20_000, "it says what happens, and not over and over")

    def test_commands(self):
        def read_for_ever(c):
            threading.Thread(target=lambda: [None for _ in iter(lambda: c.recv(1 << 16), b"")], daemon=True).start()
            return True
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.run_replay(self.file)
        self.stop_daemon(daemon)
        receiver.stop()
        # Without a receiver and a disk it soon takes no more: replay waits for its acknowledgements.
        self.start_daemon(frames={"count": 2, "events": 16}, outbox={"memory": "2 MiB", "block": "64 KiB"}, spool={"folder": ""})
        for_ever = ("--rate", "unlimited", "--timeout", "1000000", "--loop", "60")
        peers = {"does not answer connections": self.full_listener(), "is silent": self.listener(lambda c: True),
                 "never acknowledges": self.listener(read_for_ever),
                 "accepts and closes": self.listener(lambda c: None), "has no room": f"tcp://{harness.HOST}:{self.ports.tcp}"}
        deaf = self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        deaf.bind((harness.HOST, 0))
        head = harness.store_file(self.store).read_bytes()
        pipe, long = self.folder / "pipe", self.long_files(self.folder / "long", "blocks-{:06}.kl3", head)
        os.mkfifo(pipe)
        table = [(f"a peer that {state}", CONNECTING, "koto-l3", "replay", self.file, "--to", to, *for_ever) for state, to in peers.items()] + [
            ("over UDP", INTERRUPTED, "koto-l3", "replay", self.file, "--to", f"udp://{harness.HOST}:{deaf.getsockname()[1]}", "--rate", "0.1ev/s"),
            ("a pipe without a reader", AT_THE_LIMIT, "koto-l3", "extract", self.store, pipe),
            ("many events", INTERRUPTED, "koto-l3", "simulate", "OWN", "--events", "1000000", "--spills", "100"),
            ("endless samples", BY_THE_SIGNAL, "koto-l3", "pack", "/dev/zero", "/dev/null"),
            ("the demo", INTERRUPTED, "koto-l3", "demo", "--events", "100000", "--folder", "OWN"),
            ("a measurement", BY_THE_SIGNAL, "koto-l3-bench", "building", "--rounds", "10000"),
            *((f"a long store, {command}", INTERRUPTED, "koto-l3", command, *arguments) for command, *arguments in (
                ("verify", self.file, long), ("extract", long, "OWN"), ("info", long), ("select", long))),
            ("a long store, receive", ENDED_ITS_START, "koto-l3", "receive", "--out", "STORE", "--bind", "tcp://127.0.0.1:PORT")]
        for state, ends, program, *arguments in table:
            for way in WAYS:
                own, port = self.folder / f"own-{len(self.rows)}", harness.Ports().receiver
                if "STORE" in arguments:
                    self.long_files(own, "blocks-{:06}.kl3", head)
                own_ones = (str(a).replace("OWN", str(own)).replace("STORE", str(own)).replace("PORT", str(port)) for a in arguments)
                self.start(state, way, ends, program, *own_ones)
        self.all_end(OF_A_COMMAND)

    def daemons(self, state, ends, to=None, long_spool=False, load=False, runs=False, **sections):
        """One for each way, each with ports and a folder of its own."""
        for way in WAYS:
            self.ports = harness.Ports()
            folder = self.folder / str(len(self.rows))
            folder.mkdir()
            if long_spool:
                self.long_files(folder / "spool", "spool-{:06}.kl3")
            settings = {"run": {"ledger": f"{folder}/ledgers/", "drain_time_limit": f"{DRAIN} s", "control": str(folder / "control") if runs else ""},
                        "forward": {"to": to or f"tcp://{harness.HOST}:{self.ports.receiver}"}, "spool": {"folder": str(folder / "spool")},
                        "frames": {"count": 2, "events": 16}, "outbox": {"memory": "2 MiB", "block": "64 KiB"}}
            p = self.start(state, way, ends, "koto-l3d", "--config", self.write_config(f"{folder.name}/l3.toml", **harness.merged(settings, sections)))
            if load:
                p.wait_to_say("ready")
                self.keep(harness.Program([harness.BIN / "koto-l3", "replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}",
                                           "--rate", "unlimited", "--loop", "60", "--timeout", "1000000"], folder / "replay.log"))

    def test_daemons(self):
        """A SIGHUP ends no daemon that runs: it reads its configuration again."""
        silent = self.listener(lambda c: True)
        self.daemons("a receiver that does not answer connections", STORED_OR_ON_DISK, self.full_listener())
        self.daemons("a receiver that is silent", STORED_OR_ON_DISK, silent)
        self.daemons("a receiver that accepts and closes", STORED_OR_ON_DISK, self.listener(lambda c: None))
        self.daemons("full load, no receiver, and a disk", STORED_OR_ON_DISK, load=True)
        self.daemons("full load, no receiver, and no disk", GIVEN_UP, load=True, spool={"folder": ""})
        self.daemons("no run", WITHOUT_A_RUN, silent, runs=True)
        self.daemons("a long spool", ENDED_ITS_START, long_spool=True)
        time.sleep(1)
        for _, way, _, p in self.rows:
            if way == "SIGHUP" and p.running() and p.catches(HUP):
                p.signal(HUP)
                time.sleep(0.05)
                self.assertTrue(p.running(), p.said())
                p.signal(TERM)
        self.all_end(OF_THE_DAEMON)


class Unread(harness.SystemTest):
    def run_beside(self, program, *arguments, **streams):
        p = subprocess.Popen([harness.BIN / program, *map(str, arguments)], **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams})
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def run_both(self, of_receiver, of_daemon):
        receiver = self.run_beside("koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.store, **of_receiver)
        self.config = self.write_config(log={"level": "debug"}, spool={"folder": ""})
        daemon = self.run_beside("koto-l3d", "--config", self.config, **of_daemon)
        harness.wait_until(lambda: connected((harness.HOST, self.ports.monitor)), "the daemon").close()
        return receiver, daemon

    def end(self, program, code):
        program.terminate()
        self.assertEqual(program.wait(harness.PATIENCE), code)

    def full_pipe(self):
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, bytes(1 << 16))
        os.set_blocking(writing, True)  # of the pipe, not of one descriptor
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        return reading, writing

    def test_daemon_and_receiver_go_on_and_tell_when_it_is_read_again(self):
        of_daemon = self.full_pipe()
        receiver, process = self.run_both({"stderr": self.full_pipe()[1]}, {"stderr": of_daemon[1]})
        sent = self.make_events(200)
        self.run_replay(self.write_events(sent))
        # More warnings than the daemon keeps for a full pipe: one for each unknown key.
        self.config.write_text(self.config.read_text() + "".join(f"no_such_key_{n} = 1\n" for n in range(200)))

        def left_out():
            process.send_signal(signal.SIGHUP)
            return json.loads(harness.http_get(harness.HOST, self.ports.monitor, "/status")[1])["log_lines_left_out"]
        harness.wait_until(left_out, "lines that are left out")
        text = b""
        while b"log lines left out" not in text:
            text += os.read(of_daemon[0], 1 << 16)
        self.assertRegex(text.lstrip(bytes(1)).decode(), r"warning: \d+ log lines left out: they could not be written\n")
        self.end(process, 0)
        self.end(receiver, 0)
        self.assert_stored(sent)

    def test_daemon_and_receiver_go_on_without_a_reader(self):
        """A write fails, and no signal ends the program in the middle of what it does."""
        reading, pipe = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, pipe)
        receiver, daemon = self.run_both(*[{"stdout": pipe, "stderr": pipe}] * 2)
        self.run_replay(self.write_events(self.make_events(30)))
        self.end(daemon, 0)
        self.end(receiver, FAILED)  # its summary could not be written
        self.assertEqual(len(self.stored()), 30)


if __name__ == "__main__":
    harness.main()
