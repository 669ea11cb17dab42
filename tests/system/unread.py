#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a program whose output no program reads any more: the pipe is full, or its reader has gone."""
import contextlib
import os
import signal
import subprocess
import time

import harness
import l2raw
import level2
from harness import connected

FAILED, BAD = 1, 78


class Unread(harness.SystemTest):
    """Standard error, or output, is a pipe that is full, and that no program reads."""

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

    def run_beside(self, program, *arguments, **streams):
        p = subprocess.Popen([harness.BIN / program, *map(str, arguments)], **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams})
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def test_daemon_and_receiver_go_on_and_tell_when_it_is_read_again(self):
        of_daemon, of_receiver = self.full_pipe(), self.full_pipe()
        receiver = self.run_beside("koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.store,
                                   stderr=of_receiver[1])
        config = self.write_config(log={"level": "debug"}, spool={"folder": ""})
        daemon = harness.Daemon.__new__(harness.Daemon)  # to ask it; it was not started by the harness
        daemon.ports = self.ports
        process = self.run_beside("koto-l3d", "--config", config, stderr=of_daemon[1])
        harness.wait_until(lambda: connected((harness.HOST, self.ports.monitor)), "the daemon").close()
        maker, sent, sender = level2.EventMaker(self.crates, 82), {}, self.stream_sender(run=7).connect()
        sender.begin(1)
        for number in range(1, 201):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
        sender.end(1, 200)
        # More lines than there is room for: each of these changes nothing and is told.
        config.write_text(config.read_text() + "".join(f"no_such_key_{n} = 1\n" for n in range(200)))
        harness.wait_until(lambda: process.send_signal(signal.SIGHUP) or daemon.status()["log_lines_left_out"] > 0, "lines that are left out")
        harness.wait_until(lambda: daemon.status()["events"]["forwarded"] == 200, "all events")
        text = b""
        while b"log lines left out" not in text:
            text += os.read(of_daemon[0], 1 << 16)
        self.assertRegex(text.lstrip(bytes(1)).decode(), r"warning: \d+ log lines left out: they could not be written\n")
        for p in (process, receiver):
            p.terminate()
            self.assertEqual(p.wait(harness.PATIENCE), 0)
        self.assert_stored(sent)

    def test_a_start_and_an_end_that_are_not_read(self):
        pipe = self.full_pipe()[1]
        config = self.write_config(run={"drain_time_limit": "1 s"})
        daemon = self.run_beside("koto-l3d", "--config", config, stdout=pipe, stderr=pipe)
        harness.wait_until(lambda: connected((harness.HOST, self.ports.monitor)), "the daemon").close()
        daemon.terminate()
        self.assertEqual(daemon.wait(harness.PATIENCE), 0)
        config.write_text("[no]\nsuch = 1\n")
        self.assertEqual(self.run_beside("koto-l3d", "--config", config, stderr=pipe).wait(harness.PATIENCE), BAD)

    def test_tools_end_after_a_signal(self):
        pipe = self.full_pipe()[1]
        maker, sent = level2.EventMaker(self.crates, 83), self.folder / "sent.l2raw"
        l2raw.write(sent, self.crates, {1: [maker.fragments(1, n) for n in range(1, 31)]})
        replay = ("replay", sent, "--to", "udp://127.0.0.1:9", "--rate")
        self.assertEqual(self.run_beside("koto-l3", *replay, "max", stderr=pipe).wait(harness.PATIENCE), FAILED, "no program took them")
        for streams in ({"stderr": pipe}, {"stdout": pipe}, {"stdout": pipe, "stderr": pipe}):
            with self.subTest(streams):
                tool = self.run_beside("koto-l3", *replay, "0.1ev/s", **streams)
                time.sleep(1)  # into its first event
                tool.terminate()
                self.assertIn(tool.wait(harness.PATIENCE), {FAILED, -signal.SIGTERM})


class Gone(harness.SystemTest):
    """The reader of standard output, of standard error, or of both has gone (`| head`): a write fails, and no signal ends the program
    in the middle of what it does."""

    def gone_pipe(self):
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        return writing

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 84)
        self.sent = self.folder / "sent.l2raw"
        l2raw.write(self.sent, self.crates, {1: [maker.fragments(1, n) for n in range(1, 31)]})
        self.pipe = self.gone_pipe()

    def run_beside(self, program, *arguments, **streams):
        p = subprocess.Popen([harness.BIN / program, *map(str, arguments)], **{"stdout": self.pipe, "stderr": subprocess.PIPE, "text": True, **streams})
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def test_output_that_cannot_be_written_is_an_error_with_a_sentence(self):
        samples = self.folder / "samples"
        samples.write_bytes(bytes(64 * 2 * 100_000))
        rows = {"info": (self.sent,), "inspect": (self.sent, "--event", "1/1"), "pack": (samples, "-"), "demo": ("--events", "300"),
                "simulate": (self.folder / "made.l2raw", "--events", "3", "--json")}
        for command, arguments in rows.items():
            with self.subTest(command):
                p = self.run_beside("koto-l3", command, *arguments, env={**os.environ, "TMPDIR": str(self.folder)})
                said = p.communicate(timeout=harness.PATIENCE)[1]
                self.assertEqual(p.returncode, FAILED, said)
                self.assertRegex(said, rf"(?m)^koto-l3 {command}: .+$")

    def test_daemon_and_receiver_go_on_and_store(self):
        both = {"stdout": self.pipe, "stderr": self.pipe}
        receiver = self.run_beside("koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", self.store, **both)
        config = self.write_config(log={"level": "debug"}, spool={"folder": ""})
        daemon = self.run_beside("koto-l3d", "--config", config, **both)
        harness.wait_until(lambda: connected((harness.HOST, self.ports.monitor)), "the daemon").close()
        code, said = self.run_tool("replay", self.sent, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        daemon.terminate()
        self.assertEqual(daemon.wait(harness.PATIENCE), 0)
        receiver.terminate()
        self.assertEqual(receiver.wait(harness.PATIENCE), FAILED, "its summary could not be written")
        self.assertEqual(len(self.stored()), 30)


if __name__ == "__main__":
    harness.main()
