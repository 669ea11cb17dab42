#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the programs say of mistakes: a table of command lines, each with its exit code (the table of tools/README.md) and a part of the
message. A message is one sentence on one line of standard error that names the program, and no mistake makes or changes a file. What
each parser refuses is tested beside the parser; a row here shows that its message reaches the user."""
import hashlib
import os
import re
import socket
import subprocess

import harness
import l2raw
import level2
from selection_stage import DETECTOR, SELECTION

FAILED, USAGE, MISSING, BAD_CONFIGURATION = 1, 2, 69, 78
# It binds an address that no other test binds: --check-config tells of a port that is taken, too.
HUGE = b'[outbox]\nmemory = "1024 GiB"\n[udp]\nbind = "127.77.0.1:42000"\n[tcp]\nbind = ""\n[monitor]\nbind = ""\n'
PAYLOAD = SELECTION.replace('"decide"]', '"decide", "keep_waveforms"]').replace("prescale = 3", 'payload = "suppressed"').encode()
COMPLETE = "blocks-000001-run000007-node3.kl3"
FILES = {  # what the commands are given; the names stand in the table
    "empty": b"", "text": b"This is no file of koto-l3.\n",
    "other.l2raw": b"KL3R\x02" + bytes(59),
    "other.json": b'{"ledger": 2}',
    "unknown-key.toml": b"[forward]\nrat = 1\n", "no-unit.toml": b"[outbox]\nmemory = 64\n",
    "receive-key.toml": b'secret-key = "x"\n', "receive-value.toml": b'\nbind = "127.0.0.1:42200"\n',
    "receive-keys.toml": b'out = "new"\nsecret_key = "bad.secret"\nallow = "none"\n',
    "receive-service.toml": b'out = "new"\nsecret_key = "credential:receiver.secret"\nallow = "node1.public"\n',
    "receive-first.toml": b'out = "/var/lib/koto-l3-of-a-test/store"\n',
    "receive-deeper.toml": b'out = "/var/lib/koto-l3-of-a-test/2026/store"\n',
    "service.toml": b'[forward]\nsecret_key = "credential:node1.secret"\nreceiver_key = "node1.public"\n' + HUGE.replace(b"1024 GiB", b"64 MiB"),
    "open-key.toml": b'[forward]\nsecret_key = "open.secret"\nreceiver_key = "node1.public"\n',
    "no-keys.toml": b'[forward]\nto = "tcp://192.0.2.1:42200"\n',
    "node1.public": b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n", "bad.secret": b"not a key\n", "open.secret": b"not a key\n",
    "elsewhere.toml": b'[udp]\nbind = "192.0.2.1:42000"\n[tcp]\nbind = ""\n[monitor]\nbind = ""\n',
    "no-name.toml": HUGE.replace(b"1024 GiB", b"64 MiB").replace(b'[tcp]\nbind = ""', b'[tcp]\nbind = "other.invalid:42100"'),
    "no-cards.toml": HUGE.replace(b"1024 GiB", b"64 MiB").replace(b'[monitor]\nbind = ""', b'[monitor]\nbind = "192.0.2.1:9420"'),
    "no-spool.toml": b'[spool]\nfolder = "/proc/spool"\n', "no-socket.toml": b'[run]\ncontrol = "nowhere/control.sock"\n',
    "no-secret.toml": b'\n[forward]\nsecret_key = "none"\nreceiver_key = "node1.public"\n',
    "builtin.toml": b'[selection]\nlines = "builtin"\n',
    "other.truth.jsonl": b'{"spill":1,"event":1}\n',
    "broken.toml": b"[forward\n", "huge.toml": HUGE, "payload.toml": PAYLOAD, "odd.u16": bytes(129),
}

# (command line, exit code, a part of what is said); a name of FILES, "sent.l2raw", "none" or "none/deeper" is a path in the folder.
TABLE = [
    # Commands and options that do not exist
    ("koto-l3 verfy", USAGE, "no command 'verfy'; did you mean verify? see koto-l3 --help"),
    ("koto-l3", USAGE, "A subcommand is required; see koto-l3 --help"),
    ("koto-l3 replay sent.l2raw --rat 4Gb/s", USAGE, "no option --rat; did you mean --rate?"),
    ("koto-l3 info", USAGE, "path is required; see koto-l3 info --help"),
    ("koto-l3 run strat --socket none", USAGE, "koto-l3 run: no command 'strat'; did you mean start?"),
    # Values of options; the numbers are in test_every_number_is_refused_with_its_option_and_its_range
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --rate 4GB/s", USAGE, "'4GB/s' is not a rate like 10000ev/s, 40Gb/s or unlimited"),
    ("koto-l3 replay sent.l2raw --to udp://127.0.0.1:1 --chunk 4001", USAGE, "--chunk must be a multiple of 4"),
    ("koto-l3 receive --out new --bind tcp://0.0.0.0:42200", USAGE, "other machines can reach tcp://0.0.0.0:42200, and the link has no keys"),
    ("koto-l3 receive --out new --secret-key bad.secret", USAGE, "--secret-key requires --allow"),
    ("koto-l3 receive --out folder --secret-key open.secret --allow node1.public", MISSING, "chmod 600"),
    ("koto-l3 receive --out new --bind tcp://127.0.0.1:9421 --monitor 127.0.0.1:9421 --check-config", MISSING, "use the same port, 127.0.0.1:9421: give each its own"),
    ("koto-l3 inspect sent.l2raw --event 3/99", FAILED, "has no event 99 of spill 3: it holds 4 events of spills 3 to 3"),
    # What is not there
    ("koto-l3 info none", MISSING, "none cannot be read: No such file or directory"),
    ("koto-l3 verify sent.l2raw folder", MISSING, "no store: no file blocks-*.kl3 or spool-*.kl3 in folder, which is empty: its receiver or daemon has not stored anything"),
    ("koto-l3 verify sent.l2raw sent.l2raw", MISSING,
     "no store: sent.l2raw is a file of level-2 data (.l2raw), which `koto-l3 replay` reads, but a store is a folder\n"),
    ("koto-l3 verify sent.l2raw text", MISSING, "no store: text is a file, but a store is a folder\n"),
    ("koto-l3 extract spool new.bin", MISSING, "spool is a spool without waiting blocks"),
    ("koto-l3 evaluate sent.l2raw", MISSING, "cannot read sent.l2raw.truth.jsonl"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --timeout 100ms", FAILED, "cannot connect to tcp://127.0.0.1:1: Connection refused"),
    ("koto-l3 run start --socket none", MISSING, "no run control answers at none: No such file or directory (run.control of the daemon"),
    # Files of other kinds and versions, and damaged ones
    ("koto-l3 info empty", FAILED, "empty is empty"),
    ("koto-l3 info text", FAILED, "is not one of the files that koto-l3 stores: it begins with 54 68 69 73"),
    ("koto-l3 info other.l2raw", FAILED, "of version 2; this koto-l3 reads version 1: use the koto-l3 that wrote it"),
    ("koto-l3 info other.json", FAILED, "not a ledger: it has version 2; this program reads version 1"),
    ("koto-l3 info other.truth.jsonl", FAILED, "is the truth of simulated events, which `koto-l3 evaluate FILE.l2raw` reads"),
    ("koto-l3 verify store sent.l2raw", FAILED, "store is a store, which `koto-l3 select` reads: give the .l2raw file first, then the store"),
    ("koto-l3 reprocess store new --selection built-in", FAILED, "which `koto-l3 select` reads: a complete file of a store is needed here"),
    ("koto-l3 select cut.l2raw --totals", FAILED, "ends within a record, at offset "),
    ("koto-l3 select flipped.l2raw --totals", FAILED, "stream_checksum"),
    ("koto-l3 select small.l2raw", BAD_CONFIGURATION, "built-in detector.toml: describes KOTO's readout"),
    ("koto-l3 unpack text new.u16", FAILED, "offset 0: a record of N = 84 bits; there are at most 16"),
    ("koto-l3 reprocess store/blocks-000001.kl3 new --selection built-in", USAGE, "is not the name of a complete store file"),
    (f"koto-l3 reprocess ended/{COMPLETE} folder --selection built-in", FAILED, "holds no block that can be read"),
    (f"koto-l3 reprocess ended/{COMPLETE} new --selection payload.toml", BAD_CONFIGURATION, "remove payload from its lines"),
    # Configurations
    ("koto-l3d --config none --check-config", BAD_CONFIGURATION, "none: cannot be read: No such file or directory"),
    ("koto-l3d --config broken.toml --check-config", BAD_CONFIGURATION, "broken.toml:1"),
    ("koto-l3d --config unknown-key.toml --check-config", BAD_CONFIGURATION, "forward.rat is not a key; did you mean forward.rate?"),
    ("koto-l3d --config no-unit.toml --check-config", BAD_CONFIGURATION, "write a number and a unit (B, kB, KiB"),
    ("koto-l3d --config huge.toml --check-config", MISSING, "lower outbox.memory"),
    ("koto-l3d --config no-cards.toml --check-config", MISSING, "monitor.bind: no network card of this machine has the address 192.0.2.1"),
    ("koto-l3d --config no-name.toml --check-config", MISSING, "other.invalid has no address on this machine"),
    ("koto-l3d --config no-spool.toml --check-config", MISSING, "spool.folder = /proc/spool: this user cannot make a folder in /proc: "),
    ("koto-l3d --config no-socket.toml --check-config", MISSING, "run.control = nowhere/control.sock: there is no folder nowhere"),
    ("koto-l3d --config no-secret.toml --check-config", BAD_CONFIGURATION,
     "no-secret.toml:3:14: forward.secret_key: none cannot be read: No such file or directory"),
    ("koto-l3d --config open-key.toml", BAD_CONFIGURATION, "open.secret may be read"),
    ("koto-l3d --config no-keys.toml --check-config", BAD_CONFIGURATION, "the link to tcp://192.0.2.1:42200 has no keys"),
    ("koto-l3d --config builtin.toml --check-config", BAD_CONFIGURATION,
     'builtin.toml:2:9: selection.lines = "builtin": the file cannot be read: No such file or directory; did you mean "built-in"?'),
    ("koto-l3 receive --config receive-key.toml", BAD_CONFIGURATION, "receive-key.toml:1:1: secret-key is not a key; did you mean secret_key?"),
    ("koto-l3 receive --config receive-value.toml", BAD_CONFIGURATION, "receive-value.toml:2:8: bind = \"127.0.0.1:42200\": 127.0.0.1:42200 is not an endpoint"),
    ("koto-l3 receive --config receive-keys.toml --check-config", BAD_CONFIGURATION, "--secret-key: bad.secret:1: no key"),
    ("koto-l3 receive --out new --bind tcp://192.0.2.1:42200 --insecure --check-config", MISSING, "--bind: no network card of this machine has the address"),
    # Where output shall go
    ("koto-l3 simulate sent.l2raw --events 2", FAILED, "sent.l2raw exists already, and simulate did not write it"),
    ("koto-l3 pack odd.u16 odd.u16", USAGE, "is the input"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --ledger text", FAILED, "text exists already, and --ledger did not write it"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --ledger sent.l2raw", USAGE, "is the file to send"),
    ("koto-l3 keys bad", MISSING, "bad.secret"),
    ("koto-l3 receive --config receive-deeper.toml --check-config", MISSING, "there is no folder /var/lib/koto-l3-of-a-test/2026"),
    ("koto-l3 receive --out spool", USAGE, "--out: spool is the spool of a daemon (spool.folder): give the store a folder of its own"),
]

# (what is wrong: a file of the selection, the text that a good one has, the text in its place, where it is told, a part of what is said).
# The daemon and `select` refuse each with the same message. "" for the text: the new one is the whole file.
HEADER = "input,gain,time,threshold,dead\n"
SELECTIONS = [
    ("lines", '["two_clusters"]', '["two_cluster"]', ":10:12: ", 'there is no trigger bit "two_cluster"; did you mean two_clusters?'),
    ("lines", ', "decide"', "", ":2:", "nothing decides which events are kept; end it with `decide`"),
    ("lines", "photons = 2", "photons = 3\nvertex_z = [0.0, 1.0]", ":12:12: ", "events with so many photons have no vertex_z"),
    ("lines", "", "this is = = no toml", ":1:", ""),
    ("calibration", "", HEADER + "0/3/8,-1,,,\n", ":2:", "gain -1 is out of range 0..10"),
    ("detector", "dead = []", 'dead = ["99/3/7"]', ":", "the readout has no input 99/3/7"),
    ("detector", "dead = []", 'dead = []\ncables = "maps/cables.csv"', ":", "cables.csv: cannot be read: No such file or directory"),
]


class Mistakes(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 23)
        self.events = {3: [maker.fragments(3, n) for n in range(1, 5)]}
        sent = self.folder / "sent.l2raw"
        l2raw.write(sent, self.crates, self.events)
        l2raw.write(self.folder / "none.l2raw", self.crates, {}, run=7)
        l2raw.write(self.folder / "small.l2raw", level2.readout(level2.SMALL), {}, run=7)
        data = sent.read_bytes()
        head = b"KL3S\x02\x01" + bytes(2) + (1).to_bytes(8, "little")
        for name, content in {**FILES, "cut.l2raw": data[:-100], "flipped.l2raw": data[:50_000] + bytes([data[50_000] ^ 1]) + data[50_001:],
                              "spool/released.kl3r": b"", "store/blocks-000001.kl3": head, f"ended/{COMPLETE}": head}.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(content)
        (self.folder / "bad.secret").chmod(0o600)
        (self.folder / "folder").mkdir()

    def run_line(self, line, **how):
        program, *arguments = line.split() if isinstance(line, str) else line
        return subprocess.run([harness.BIN / program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, text=True, errors="replace",
                              timeout=harness.PATIENCE, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how})

    def files(self):
        """By checksum: a difference of megabytes would take unittest for ever to show."""
        return {str(p.relative_to(self.folder)): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else None for p in self.folder.rglob("*")}

    def assert_said(self, p, line, code, text):
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertIn(text, p.stderr)
        self.assertEqual(len(p.stderr.splitlines()), 1, "one sentence")
        self.assertNotRegex(p.stderr, r"filesystem error|std::|\[system:", "names of the library")
        if code != BAD_CONFIGURATION:
            self.assertTrue(p.stderr.startswith(line.split()[0] if isinstance(line, str) else line[0]), p.stderr)


class Table(Mistakes):
    def test_each_is_told_in_a_sentence_and_changes_nothing(self):
        before = self.files()
        for line, code, text in TABLE:
            with self.subTest(line):
                self.assert_said(self.run_line(line), line, code, text)
                after = self.files()
                changed, before = before.items() ^ after.items(), after
                self.assertFalse(changed, "no file is made or changed")

    def test_selections_are_refused_by_the_daemon_and_the_tool(self):
        good = {"lines": SELECTION, "detector": DETECTOR}
        option = {"lines": "--selection", "detector": "--detector", "calibration": "--calibration"}
        for what, old, new, place, text in SELECTIONS:
            with self.subTest(what=what, new=new[:60]):
                self.assertTrue(not old or old in good[what], f"no {old!r} to change")
                file = self.folder / f"{what}.file"
                file.write_text(good[what].replace(old, new, 1) if old else new)
                config = self.write_config("bad.toml", selection={"lines": "built-in", what: str(file)})
                for line in (("koto-l3d", "--config", config, "--check-config"), ("koto-l3", "select", "none.l2raw", option[what], file)):
                    p = self.run_line(line)
                    self.assert_said(p, line, BAD_CONFIGURATION, text)
                    self.assertIn(file.name + place, p.stderr)
        (self.folder / "lines.file").write_text(SELECTION)
        config = self.write_config("good.toml", selection={"lines": str(self.folder / "lines.file"), "detector": ""})
        p = self.run_line(("koto-l3d", "--config", config, "--check-config"))
        self.assertEqual((p.returncode, p.stderr), (0, ""), "nothing is wrong, and the detector is the built-in one")

    def test_what_a_command_wrote_it_may_replace(self):
        (self.folder / "even.u16").write_bytes(bytes(128))
        for line in ("koto-l3 simulate new.l2raw --events 2", "koto-l3 pack even.u16 new.kr",
                     "koto-l3 pack even.u16 new.kr --codec strong",
                     "koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --timeout 1ms --ledger new.json"):
            for _ in range(2):
                with self.subTest(line):
                    self.assertNotIn("exists already", self.run_line(line).stderr)
        self.assertEqual({p.name for p in self.folder.glob("new*")}, {"new.l2raw", "new.l2raw.truth.jsonl", "new.kr", "new.json"})

    def test_what_only_the_service_gets_is_no_mistake(self):
        """A package's installation and Ansible check a configuration outside of its service."""
        before = self.files()
        for line, file, text in (("koto-l3 receive --config receive-service.toml --check-config", "receive-service.toml",
                                  "secret_key: credential:receiver.secret was not checked: only the service can read it"),
                                 ("koto-l3d --config service.toml --check-config", "service.toml",
                                  "forward.secret_key: credential:node1.secret was not checked: only the service can read it"),
                                 ("koto-l3 receive --config receive-first.toml --check-config", "receive-first.toml",
                                  "there is no folder /var/lib/koto-l3-of-a-test yet: the service creates it")):
            p = self.run_line(line)
            self.assertEqual((p.returncode, p.stdout), (0, f"{file}: ok\n"), p.stderr)
            self.assertIn(text, p.stderr)
        for line in ("koto-l3d --config elsewhere.toml --check-config --elsewhere", "koto-l3d --config no-secret.toml --check-config --elsewhere",
                     "koto-l3 receive --out none/deeper --insecure --bind tcp://192.0.2.1:42200 --check-config --elsewhere"):
            p = self.run_line(line)
            self.assertEqual((p.returncode, p.stderr), (0, ""), "another machine's configuration")
        self.assertEqual(self.files(), before)
        self.assertEqual(self.run_line("koto-l3d --config service.toml").returncode, BAD_CONFIGURATION)
        self.assertEqual(self.run_line("koto-l3 receive --config receive-first.toml").returncode, MISSING)

    def commands(self):
        """(command, what its --help says) of koto-l3."""
        told = self.run_line("koto-l3 --help").stdout
        self.assertEqual(re.findall(r"^(\w+):", told, re.MULTILINE), ["Usage", "Options", "Operate", "Data", "Selection", "Try"])
        self.assertEqual(self.run_line("koto-l3 help replay").stdout, self.run_line("koto-l3 replay --help").stdout)
        for command in re.findall(r"^  ([a-z]+) {2}", told, re.MULTILINE):
            for whole in [f"run {c}" for c in ("start", "stop", "status")] if command == "run" else [command]:
                p = self.run_line(f"koto-l3 {whole} --help")
                self.assertEqual((p.returncode, p.stderr), (0, ""))
                self.assertTrue(p.stdout.replace("\n", "").isprintable(), p.stdout)
                yield whole, p.stdout

    def test_every_number_is_refused_with_its_option_and_its_range(self):
        """Not-a-number lies in every range that is checked by two comparisons."""
        found = 0
        for command, usage in self.commands():
            for option, what in re.findall(r"^ +(--[a-z-]+) (U?INT[^\n]*|FLOAT:[^\n]*)", usage, re.MULTILINE):
                found += 1
                for number in ("99999999999999999999", "-1e30" if what[0] == "F" else "-1", "", "5 kg", "nan", "0x1"):
                    with self.subTest(command=command, option=option, number=number):
                        p = self.run_line(("koto-l3", *command.split(), f"{option}={number}"))
                        self.assertEqual(p.returncode, USAGE, p.stderr)
                        self.assertIn(option, p.stderr)
                        if number not in ("", "nan", "0x1") and "unit" not in p.stderr:
                            self.assertRegex(p.stderr, rf"{re.escape(number)} .*(from|range|in {{)")
                            self.assertRegex(p.stderr, r"\d (to|-) \d|from \d+ (to|on)|{")
        self.assertGreater(found, 40)


class WhatTheSystemRefuses(Mistakes):
    def test_no_room_and_no_reader(self):
        """The disk is full, or the reader of standard output has gone (`| head`)."""
        reading, gone = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, gone)
        full = self.enterContext(open("/dev/full", "wb"))
        for line in ("koto-l3 info sent.l2raw", "koto-l3 info sent.l2raw --json", "koto-l3 inspect sent.l2raw --event 3/1",
                     "koto-l3 --help", "koto-l3 --version", "koto-l3d --version", "koto-l3d --print-config", "koto-l3 doctor"):
            for stdout in (full, gone):
                with self.subTest(line, stdout=stdout):
                    p = self.run_line(line, stdout=stdout)
                    self.assertEqual(p.returncode, FAILED, p.stderr)
                    self.assertIn("standard output could not be written", p.stderr)

    def test_a_port_or_a_store_that_is_taken(self):
        receiver = self.start_receiver(store=self.folder / "mine")
        for port, out, text in ((self.ports.receiver, "new", "cannot listen"), (self.ports.receiver + 1, "mine", "in use")):
            line = f"koto-l3 receive --out {out} --bind tcp://{harness.HOST}:{port}"
            self.assert_said(self.run_line(line), line, MISSING, text)
        self.assertEqual(receiver.stop(), 0)
        for kind, port, key in ((socket.SOCK_DGRAM, self.ports.udp + 3, "udp.bind"), (socket.SOCK_STREAM, self.ports.tcp, "tcp.bind"),
                                (socket.SOCK_STREAM, self.ports.monitor, "monitor.bind")):
            with socket.socket(socket.AF_INET, kind) as s:
                s.bind((harness.HOST, port))
                if kind == socket.SOCK_STREAM:
                    s.listen()
                p = self.run_line(("koto-l3d", "--config", self.write_config()))
                self.assertEqual(p.returncode, MISSING, p.stderr)
                for text in (str(port), "in use", key):
                    self.assertIn(text, p.stderr.splitlines()[-1])
        self.stop_daemon(self.start_daemon())  # nothing is left behind that would hinder the next start

    def test_no_permission(self):
        (self.folder / "sent.l2raw").chmod(0)
        (self.folder / "folder" / "file").touch()  # an empty one may be the bare place of a disk
        (self.folder / "folder").chmod(0o555)
        self.folder.chmod(0o755)
        # Root may read and write anything: the command then runs as another user.
        as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        for line, text in (("koto-l3 info sent.l2raw", "Permission denied"),
                           ("koto-l3 simulate folder/new.l2raw --events 2", "Permission denied"),
                           ("koto-l3 receive --out folder/new", "Permission denied")):
            with self.subTest(line):
                self.assert_said(self.run_line(line, **as_nobody), line, MISSING, text)
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(str(self.folder / "control.sock"))
            control.listen()
            (self.folder / "control.sock").chmod(0o660)
            if as_nobody:  # else this user may open the socket
                line = "koto-l3 run status --socket control.sock"
                self.assert_said(self.run_line(line, **as_nobody), line, MISSING, "no permission to open control.sock: it is open to")


if __name__ == "__main__":
    harness.main()
