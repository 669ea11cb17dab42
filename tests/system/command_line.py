#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What koto-l3 says and how it ends when it is told something wrong, finds something missing, or is interrupted: the table of exit
codes in tools/README.md."""
import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import termios

import harness
import l2raw
import level2

FAILED, USAGE, MISSING = 1, 2, 69
SOURCE = harness.HERE.parents[1]
NUMBERS = ("0", "-1", "99999999999999999999", "nan", "1e999", "")


class CommandLine(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 61)
        self.sent = self.folder / "sent.l2raw"
        self.events = {3: [maker.fragments(3, n) for n in range(1, 21)]}
        l2raw.write(self.sent, self.crates, self.events)

    def says(self, code, text, *arguments):
        """It ends with this code and a message of a line or two that has this text."""
        its_code, said = self.run_tool(*arguments)
        self.assertEqual(its_code, code, said)
        self.assertIn(text, said)
        self.assertLessEqual(len(said.splitlines()), 2, said)
        self.assertLess(len(said), 500, said)

    def fill_store(self):
        """A store of all events, by way of a daemon; the receiver's ledger is final."""
        receiver, daemon = self.start_receiver(), self.start_daemon()
        sender = self.udp_sender(daemon)
        for number, fragments in enumerate(self.events[3], 1):
            sender.event(3, number, fragments)
        sender.end(3, len(self.events[3]))
        daemon.wait_for_stored(len(self.events[3]))
        self.stop_daemon(daemon)
        return receiver


class Usage(CommandLine):
    def test_numbers_that_are_out_of_range(self):
        out = self.folder / "out"
        replay = ("replay", self.sent, "--to", f"udp://{harness.HOST}:{self.ports.udp}")
        cases = [(("simulate", out), ("--events", "--spills")), (replay, ("--loop", "--window", "--timeout", "--chunk")),
                 (("verify", self.sent, self.folder), ("--loop",)), (("pack", self.sent, out), ("--samples",)),
                 (("unpack", self.sent, out), ("--samples",)), (("demo",), ("--events", "--spills"))]
        for command, options in cases:
            for option in options:
                for number in NUMBERS:
                    with self.subTest(command=command[0], option=option, number=number):
                        self.says(USAGE, option, *command, f"{option}={number}")
        for option in ("--seed", "--run", "--threads"):
            self.says(USAGE, option, "simulate", out, f"{option}=-1")
        self.says(USAGE, "--seed", "demo", "--seed=-1")
        self.says(USAGE, "--end-delay", *replay, "--end-delay=-1")
        self.assertFalse(out.exists())

    def test_every_number_is_refused_with_its_option_and_its_range(self):
        found = 0
        for command in ("simulate", "replay", "verify", "inspect", "histograms", "pack", "unpack", "select", "evaluate", "reprocess", "demo", "run start"):
            code, usage = self.run_tool(*command.split(), "--help")
            self.assertEqual(code, 0, usage)
            for option, what in re.findall(r"^ +(--[a-z-]+) (U?INT[^\n]*|FLOAT:[^\n]*)", usage, re.MULTILINE):
                found += 1
                for number in ("18446744073709551616", "99999999999999999999", "-1e30" if what[0] == "F" else "-1", "", "5 kg", "nan"):
                    with self.subTest(command=command, option=option, number=number):
                        code, said = self.run_tool(*command.split(), f"{option}={number}")
                        self.assertEqual(code, USAGE, said)
                        self.assertIn(option, said)
                        if number and number != "nan" and "unit" not in said:
                            self.assertRegex(said, rf"{re.escape(number)} .*(from|range|in {{)")
                            self.assertRegex(said, r"\d (to|-) \d|from \d+ to|{")
        self.assertGreater(found, 40)
        self.says(USAGE, "--samples: 4294967296 is not a multiple of 64 from 64 to 4294967232", "pack", "a", "b", "--samples=4294967296")
        self.says(USAGE, "--run: 4294967296 is no whole number from 0 to 4294967295", "simulate", "a", "--run=4294967296")

    def test_numbers_that_are_none(self):
        """Not-a-number lies in every range that is checked by two comparisons."""
        out = self.folder / "out"
        needed = {"simulate": (out,), "replay": (self.sent, "--to", f"udp://{harness.HOST}:{self.ports.udp}")}
        found = 0
        for command in ("simulate", "replay"):
            code, usage = self.run_tool(command, "--help")
            self.assertEqual(code, 0, usage)
            for option in re.findall(r"^ +(--[a-z-]+) FLOAT", usage, re.MULTILINE):
                found += 1
                for number in ("nan", "-nan", "inf", "1e999", "0x0", "-0x1p-1", " 0x1", "0.5 ", ""):
                    with self.subTest(command=command, option=option, number=number):
                        self.says(USAGE, option, command, *needed.get(command, ()), f"{option}={number}")
        self.assertGreater(found, 5)
        self.assertFalse(out.exists())
        self.says(USAGE, "--drop: 'nan' is not a probability like 0.01 or 1%", "replay", *needed["replay"], "--drop=nan")
        for number in ("0x0", "0x1p-1", "nan", "inf", " 0.5"):
            for option in ("--drop", "--duplicate", "--rate"):
                self.says(USAGE, number, "replay", *needed["replay"], f"{option}={number}")

    def test_rates_and_probabilities(self):
        for rate in ("0ev/s", "-1ev/s", "nan ev/s", "1e16ev/s", "0.01ev/s", "10", "fast"):
            with self.subTest(rate):
                self.says(USAGE, "--rate", "replay", self.sent, "--to", "tcp://h:1", f"--rate={rate}")
                self.says(USAGE, "--rate", "demo", f"--rate={rate}")
                self.says(USAGE, "--tcp-rate", "demo", f"--tcp-rate={rate}")
        for probability in ("-0.1", "1.1", "nan", "x"):
            self.says(USAGE, "--drop", "replay", self.sent, "--to", "udp://h:1", f"--drop={probability}")

    def test_endpoints(self):
        for bind in ("tcp://127.0.0.1:99999", "tcp://127.0.0.1:0", "tcp://:1", "tcp://h:1x", "ipc:///tmp/x", "42200"):
            with self.subTest(bind):
                self.says(USAGE, "is not an endpoint", "receive", "--out", self.store, f"--bind={bind}")
        self.assertFalse(self.store.exists())
        for to in ("udp://h:0", "tcp://h:99999", "tcp://:1", "h:1"):
            self.says(USAGE, "--to", "replay", self.sent, f"--to={to}")

    def test_commands_and_options_that_are_none(self):
        self.says(USAGE, "no command 'recieve'; did you mean receive? see koto-l3 --help", "recieve")
        self.says(USAGE, "no command 'bench'; see koto-l3 --help", "bench")
        for none, answer in (("pipline", "did you mean pipeline? see koto-l3-bench --help"), ("fly", "see koto-l3-bench --help")):
            p = subprocess.run([harness.BIN / "koto-l3-bench", none], capture_output=True, text=True)
            self.assertEqual((p.returncode, p.stderr), (USAGE, f"koto-l3-bench: no command '{none}'; {answer}\n"))
        self.says(USAGE, "--nothing", "pack", "a", "b", "--nothing")
        self.says(USAGE, "out", "pack", "a")
        self.says(USAGE, "--backend", "demo", "--backend", "abacus")

    def test_help_is_text(self):
        for program, commands in (("koto-l3", ("simulate", "replay", "keys", "receive", "verify", "extract", "pack", "unpack", "demo",
                                               "select", "evaluate", "cables", "efficiency", "info", "inspect", "run", "status", "histograms", "doctor")),
                                  ("koto-l3-bench", ("pack", "unpack", "building", "decode", "device", "engine", "memory", "pipeline", "receive",
                                                     "select", "show", "sort"))):
            for command in ((), *((c,) for c in commands)):
                with self.subTest(program, command=command):
                    p = subprocess.run([harness.BIN / program, *command, "--help"], capture_output=True, check=True)
                    said = p.stdout.decode()
                    self.assertTrue(said.replace("\n", "").isprintable())
                    self.assertTrue(command or all(f"\n  {c} " in said for c in commands), said)

    def test_version(self):
        for program, command in (("koto-l3", ()), ("koto-l3", ("replay",)), ("koto-l3-bench", ()), ("koto-l3-bench", ("pack",))):
            p = subprocess.run([harness.BIN / program, *command, "--version"], capture_output=True, text=True, check=True)
            commit = r"[0-9a-f]{12}(-dirty)?" if (SOURCE / ".git").exists() else "unknown"
            self.assertRegex(p.stdout, rf"^{program} \d+\.\d+\.\d+ \(commit {commit}\)\n$")


class PlainText(CommandLine):
    """An argument, or the name of a file, commands no terminal and begins no line, wherever it stands and whoever prints it."""
    ODD = b"odd\nkoto-l3: all is well\x1b[2J\x07\r\x7f\xc2\x9b\xe2\x80\xae\xff"

    def said(self, *arguments, program="koto-l3"):
        p = subprocess.run([harness.BIN / program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=harness.PATIENCE)
        for text in (p.stdout, p.stderr):
            lines = text.decode().split("\n")  # UTF-8
            self.assertFalse([line for line in lines if line.startswith("koto-l3: all is well") or not (line + "x").replace("\t", "").isprintable()])
        return p

    def commands_with(self, option):
        commands = re.findall(r"^  ([a-z]+) {2}", subprocess.run([harness.BIN / "koto-l3", "--help"], capture_output=True, text=True, check=True).stdout, re.MULTILINE)
        found = set()
        for command in commands:
            more = ["status"] if command == "run" else []
            usage = subprocess.run([harness.BIN / "koto-l3", command, *more, "--help"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"^  .*{option}\b", usage, re.MULTILINE):
                found.add(command)
        return found

    def test_names_of_what_is_read_and_written(self):
        odd = self.folder.__fspath__().encode() + b"/" + self.ODD
        store = os.fsdecode(odd + b".store")
        self.assertEqual(self.fill_store().stop(), 0)
        os.rename(self.sent, odd)
        os.rename(self.store, store)
        for arguments in (("info", odd), ("info", store), ("info", store + "/ledger.json"), ("inspect", odd, "--event", "3/1"), ("select", odd),
                          ("evaluate", odd), ("verify", odd, store), ("extract", store, odd + b".out"),
                          ("efficiency", store), ("histograms", store), ("keys", odd + b".key"), ("simulate", odd + b".l2raw", "--events", "2"),
                          ("reprocess", odd, odd + b".out", "--menu", "built-in"),
                          ("pack", odd + b".l2raw", odd + b".kr"), ("receive", "--out", odd), ("receive", "--config", odd), ("doctor", "--config", odd)):
            with self.subTest(arguments):
                p = self.said(*arguments)
                self.assertTrue(p.stdout or p.stderr)

    def test_json_is_utf8_whatever_a_name_holds(self):
        odd = self.folder.__fspath__().encode() + b"/odd\xff"
        store = odd + b".store"
        self.assertEqual(self.fill_store().stop(), 0)
        os.rename(self.sent, odd)
        os.rename(self.store, store)
        os.rename(self.write_config(), odd + b".toml")
        pathlib.Path(os.fsdecode(odd + b".u16")).write_bytes(bytes(256))
        tried, named = set(), set()

        def take(command, answer):
            json.loads(answer.decode())
            tried.add(command)
            if rb"odd\\xff" in answer:
                named.add(command)

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind((harness.HOST, 0))
            for arguments in (("simulate", odd + b".l2raw", "--events", "2"), ("info", odd), ("info", store), ("inspect", odd, "--event", "3/1"),
                              ("select", odd + b".l2raw"), ("evaluate", odd + b".l2raw"), ("verify", odd, store),
                              ("extract", store, odd + b".out"), ("efficiency", store), ("cables",),
                              ("pack", odd + b".u16", odd + b".kr"), ("unpack", odd + b".kr", odd + b".16"), ("doctor", "--config", odd + b".toml"),
                              ("replay", odd, "--to", f"udp://{harness.HOST}:{deaf.getsockname()[1]}"), ("status", f"{harness.HOST}:1")):
                with self.subTest(arguments):
                    take(arguments[0], self.said(*arguments, "--json").stdout)
        receiver = subprocess.Popen([harness.BIN / "koto-l3", "receive", "--json", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}", "--out", odd + b".to"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(receiver.kill)
        while b"listening on" not in receiver.stderr.readline():
            self.assertIsNone(receiver.poll())
        receiver.terminate()
        take("receive", receiver.communicate(timeout=harness.PATIENCE)[0])
        self.assertEqual(named, {"info", "extract", "simulate", "receive"})
        # A file of options names demo's folder, and must be UTF-8; run and histograms print what they have read as JSON; reprocess tells a
        # name only if its file has the name of a store's.
        self.assertEqual(self.commands_with("--json") - tried, {"demo", "run", "histograms", "reprocess"})


class FullLog(CommandLine):
    """Standard error lies on a disk that is full."""

    def ends_with(self, code, *arguments):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([harness.BIN / "koto-l3", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=full, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code)

    def test_mistakes_keep_their_code(self):
        self.ends_with(USAGE, "no-such-command")
        self.ends_with(MISSING, "verify", self.folder / "none", self.folder)

    def test_the_receiver_goes_on(self):
        address = (harness.HOST, self.ports.receiver)
        with open("/dev/full", "wb") as full:
            p = subprocess.Popen([harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{address[0]}:{address[1]}", "--out",
                                  self.store], stdout=subprocess.DEVNULL, stderr=full)
        try:
            harness.wait_until(lambda: p.poll() is not None or connects(address), "the receiver")
        finally:
            p.terminate()
        self.assertEqual(p.wait(harness.PATIENCE), 0)


def connects(address):
    with socket.socket() as s:
        return s.connect_ex(address) == 0


class Missing(CommandLine):
    def test_what_is_not_there(self):
        none, out = self.folder / "none", self.folder / "out"
        empty = self.folder / "empty"
        empty.mkdir()
        to = ("--to", f"tcp://{harness.HOST}:{self.ports.tcp}")
        for arguments in (("replay", none, *to), ("replay", self.folder, *to), ("verify", none, empty),
                          ("verify", self.sent, none), ("verify", self.sent, empty), ("verify", self.sent, empty, "--ledger", none), ("verify", empty, empty),
                          ("extract", none, out), ("extract", empty, out), ("pack", none, out), ("pack", self.sent, none / "out"),
                          ("unpack", none, out), ("simulate", none / "out"), ("simulate", out, "--detector", none),
                          ("simulate", out, "--waveforms", none), ("demo", "--waveforms", none),
                          ("demo", "--folder", self.sent), ("receive", "--out", none / "store"), ("receive", "--out", self.sent)):
            with self.subTest(" ".join(map(str, arguments))):
                self.says(MISSING, str(self.folder), *arguments)
        self.assertFalse(out.exists())
        self.says(MISSING, r"no\u001b[2J", "replay", self.folder / "no\x1b[2J", *to)  # a name that commands the terminal
        self.fill_store().stop()
        self.says(MISSING, str(none), "extract", self.store, none / "out")
        self.says(USAGE, "is a file of the store", "extract", self.store, harness.store_file(self.store))
        self.says(USAGE, "is the input", "pack", self.sent, self.sent)

    def test_a_port_that_is_taken(self):
        receiver = self.start_receiver()
        self.says(MISSING, "cannot listen", "receive", "--out", self.folder / "other", "--bind",
                  f"tcp://{harness.HOST}:{self.ports.receiver}")
        self.says(MISSING, "in use", "receive", "--out", self.store, "--bind", f"tcp://{harness.HOST}:{self.ports.receiver + 1}")
        receiver.stop()


class Files(CommandLine):
    def test_a_file_that_is_no_level_2_data(self):
        other = self.folder / "other"
        store = self.folder / "store"
        store.mkdir()
        (store / "blocks-000001.kl3").touch()
        for data in (b"", b"L", bytes(100), b"x" * 1000):
            other.write_bytes(data)
            self.says(FAILED, "is not an .l2raw file", "verify", other, store)
            self.says(FAILED, "is not an .l2raw file", "replay", other, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}")

    def test_what_extract_says_of_a_file_that_is_too_long(self):
        self.assertEqual(self.fill_store().stop(), 0)
        file = harness.store_file(self.store)
        file.write_bytes(file.read_bytes() + b"more")
        code, said = self.run_tool("extract", self.store, self.folder / "out")
        self.assertEqual(code, FAILED, said)
        self.assertIn("out: 20 events", said)
        self.assertTrue(said.endswith("koto-l3 extract: 1 places of the store are damaged; the events there are left out (--skip-damaged accepts that)\n"), said)

    def test_what_verify_and_extract_say_of_cut_files(self):
        receiver, out = self.fill_store(), self.folder / "out"
        code, said = self.run_tool("verify", self.sent, self.store)
        self.assertEqual(code, 0, said)
        self.assertIn("the receiver's ledger is not final", said)
        self.assertIs(self.run_for_json("verify", self.sent, self.store)["receiver_ledger_final"], False)
        self.assertEqual(receiver.stop(), 0)
        self.assertIs(self.run_for_json("verify", self.sent, self.store)["receiver_ledger_final"], True)
        code, said = self.run_tool("verify", self.sent, self.store)
        self.assertNotIn("final", said)
        self.assertNotIn("no whole block", said)

        whole = self.sent.read_bytes()
        self.sent.write_bytes(whole[:-1])
        code, said = self.run_tool("verify", self.sent, self.store)
        self.assertEqual(code, FAILED)
        self.assertIn("sent.l2raw ends within a record", said)
        self.sent.write_bytes(whole)

        file = harness.store_file(self.store)
        file.write_bytes(file.read_bytes()[:-1])
        code, said = self.run_tool("extract", self.store, out)
        self.assertEqual(code, FAILED, said)
        self.assertIn("1 places of the store are damaged", said)
        cut = self.run_for_json("verify", self.sent, self.store, code=FAILED)
        self.assertEqual((cut["events"]["damaged"], cut["torn_ends"]), (1, 0), "nothing is added to a complete file")


class Ledgers(CommandLine):
    """Every event is stored, and verify says so: what fails is a ledger."""

    def setUp(self):
        super().setUp()
        self.assertEqual(self.fill_store().stop(), 0)
        self.of_store = self.store / "ledger.json"
        self.of_daemon = self.folder / "daemon-ledger.json"

    def verify(self, *ledgers):
        arguments = ("verify", self.sent, self.store, *(f"--ledger={file}" for file in ledgers))
        code, said = self.run_tool(*arguments)
        if "not a ledger" not in said:
            self.assertIn("every event that was sent is stored", said)
            self.assertEqual(self.run_for_json(*arguments, code=code)["holds"], code == 0)
        return code, said

    def written(self, file, **changes):
        ledger = json.loads(file.read_text())
        for key, value in changes.items():
            ledger[key] = {**ledger[key], **value} if isinstance(value, dict) else value
        return json.dumps(ledger)

    def test_good_ones(self):
        code, said = self.verify(self.of_daemon)
        self.assertEqual(code, 0, said)
        moved = self.of_store.rename(self.folder / "elsewhere.json")
        code, said = self.verify(self.of_daemon, moved)
        self.assertEqual(code, 0, said)

    def test_of_another_daemon(self):
        other = self.folder / "other.json"
        other.write_text(self.written(self.of_daemon, run=8))
        code, said = self.verify(other)
        self.assertEqual(code, FAILED, said)
        self.assertRegex(said, "is of run 8, and its session [0-9a-f]+ is stored with run 7")
        code, said = self.verify(self.of_daemon, self.of_daemon)
        self.assertEqual(code, FAILED, said)
        self.assertIn("are of the same start of a daemon", said)

    def test_of_a_run_among_several(self):
        """Run 8 sends the same numbers, of which it loses the last event: it is not made good by run 7, nor mixed with it."""
        self.of_daemon.rename(self.folder / "ledger-7.json")
        receiver, daemon = self.start_receiver(), self.start_daemon(run={"number": 8})
        sender = self.udp_sender(daemon)
        for number, fragments in list(enumerate(self.events[3], 1))[:-1]:
            sender.event(3, number, fragments)
        daemon.wait_for_stored(len(self.events[3]) - 1)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.says(FAILED, "runs 7 and 8 are stored, and have events under the same numbers: say by --run", "verify", self.sent, self.store)
        self.says(FAILED, "no block of run 9 is stored, but of runs 7 and 8", "verify", self.sent, self.store, "--run", "9")
        self.says(FAILED, f"it holds {2 * len(self.events[3]) - 1} events of spills 3 to 3 of runs 7 and 8", "inspect", self.store, "--run", "7",
                  "--event", "3/99")
        for choice in (("--run", "8"), ("--ledger", self.of_daemon)):
            said = self.run_for_json("verify", self.sent, self.store, *choice, code=FAILED)
            self.assertEqual((said["runs"], said["runs_not_compared"], said["events"]["missing"], said["events"]["extra"]), ([8], [7], 1, 0))
        for choice in (("--run", "7"), ("--ledger", self.folder / "ledger-7.json")):
            said = self.run_for_json("verify", self.sent, self.store, *choice)
            self.assertEqual((said["runs"], said["events"]["equal"]), ([7], len(self.events[3])))
        self.assertIn("compared with run 7; run 8 is stored, too, and not compared",
                      self.run_tool("verify", self.sent, self.store, "--run", "7")[1])
        together = self.run_for_json("verify", self.sent, self.store, "--run", "7", "--run", "8")
        self.assertEqual(together["events"]["repeated"], len(self.events[3]) - 1, "each start of a daemon got them")
        code, said = self.run_tool("verify", self.sent, self.store, "--run", "7", "--ledger", self.of_daemon)
        self.assertEqual(code, FAILED, said)
        self.assertIn("is of run 8, which is not compared: leave it out", said)

    def test_of_a_replay_that_failed_early_is_not_the_one_before(self):
        to = ("--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--timeout", "0.1")
        ledger = self.folder / "replay.json"
        before = self.written(self.of_daemon, program="replay")
        junk = self.folder / "junk"
        junk.write_bytes(bytes(100))
        for code, file in ((FAILED, self.sent), (FAILED, junk), (MISSING, self.folder / "none")):
            ledger.write_text(before)
            its_code, said = self.run_tool("replay", file, *to, "--ledger", ledger)
            self.assertEqual(its_code, code, said)
            self.assertIs(json.loads(ledger.read_text())["clean"], False)
            self.assertEqual(json.loads(ledger.read_text())["events"]["admitted"], 0)
        self.assertEqual(self.verify(ledger)[0], FAILED, "it sent nothing")
        ledger.write_text(before)
        self.says(USAGE, "--rate", "replay", self.sent, *to, "--ledger", ledger, "--rate", "fast")
        self.assertEqual(ledger.read_text(), before, "a command line that is wrong changes nothing")
        whole = self.sent.read_bytes()
        self.says(USAGE, "is the file to send", "replay", self.sent, *to, "--ledger", self.sent)
        self.assertEqual(self.sent.read_bytes(), whole)


class Interrupted(CommandLine):
    """The signal waits, held back, while the program starts: it comes at the first event, whatever the machine does."""

    def interrupted(self, number, *arguments):
        def signal_myself():
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            os.kill(os.getpid(), number)
        p = subprocess.run([harness.BIN / "koto-l3", *arguments], preexec_fn=signal_myself, capture_output=True,
                           timeout=harness.PATIENCE, check=False)
        self.assertEqual(p.returncode, FAILED, p.stderr)
        self.assertIn(b"interrupted", p.stderr)

    def test_nothing_half_written_has_its_final_name(self):
        self.fill_store().stop()
        before = sorted(self.folder.iterdir())
        out, truth = self.folder / "out", self.folder / "out.truth.jsonl"
        for number in (signal.SIGINT, signal.SIGTERM):
            for earlier in (None, {"simulate": b"KL3R, dear", "extract": b"\x3c\0\0\1, dear"}):  # which each may replace
                for arguments in (("simulate", out, "--events", "5"), ("extract", self.store, out)):
                    with self.subTest(number=number, earlier=earlier, command=arguments[0]):
                        if earlier:
                            out.write_bytes(earlier[arguments[0]])
                            truth.write_text('{"spill":1}')
                        self.interrupted(number, *arguments)
                        self.assertEqual(out.read_bytes() if earlier else None, earlier and earlier[arguments[0]])
                        self.assertEqual(sorted(f for f in self.folder.iterdir() if f not in (out, truth)), before)
                        out.unlink(missing_ok=True)
                        truth.unlink(missing_ok=True)


class Terminal(CommandLine):
    COLUMNS = 40

    def test_progress_fits_and_is_gone_before_the_report(self):
        taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(taker.close)
        taker.bind((harness.HOST, 0))
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        termios.tcsetwinsize(its, (24, self.COLUMNS))
        with subprocess.Popen([harness.BIN / "koto-l3", "replay", self.sent, "--to", f"udp://{harness.HOST}:{taker.getsockname()[1]}", "--rate", "10ev/s"],
                              stdin=subprocess.DEVNULL, stdout=its, stderr=its):
            os.close(its)
            said = b""
            try:
                while piece := os.read(ours, 65536):
                    said += piece
            except OSError:  # the other end is closed
                pass
        progress, _, report = said.decode().partition("replay to udp")
        lines = progress.split("\r")
        self.assertIn("of 20 events", progress)
        self.assertLess(max(map(len, (line.removesuffix("\x1b[K") for line in lines))), self.COLUMNS)
        self.assertEqual(lines[-1], "\x1b[K", "the line is removed before the report")
        self.assertNotIn("\x1b", report)


class Pipes(CommandLine):
    def test_what_is_written_into_a_pipe(self):
        self.fill_store().stop()
        file, pipe = self.folder / "file", self.folder / "pipe"
        os.mkfifo(pipe)
        for command in (lambda out: ("simulate", out, "--events", "3"), lambda out: ("extract", self.store, out)):
            with self.subTest(command(file)[0]):
                file.unlink(missing_ok=True)
                self.assertEqual(self.run_tool(*command(file))[0], 0)
                p = self.start_tool(*command(pipe))
                self.assertEqual(pipe.read_bytes(), file.read_bytes())
                self.assertEqual(p.wait(), 0, p.said())
        self.assertFalse((self.folder / "pipe.truth.jsonl").exists())


if __name__ == "__main__":
    harness.main()
