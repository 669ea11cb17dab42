#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of daemon and receiver whose output no program reads any more: the pipe is full, or its reader has gone. Of commands that is a
test of mistakes.py."""
import contextlib
import json
import os
import signal
import subprocess

import harness
from harness import connected

FAILED = 1


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
        # More lines than there is room for: each of these changes nothing and is told.
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
