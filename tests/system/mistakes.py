#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the programs say of mistakes: a table of command lines, each with its exit code and a part of what is said. What is said is
one sentence on one line of standard error that names the program, and no mistake makes or changes a file."""
import grp
import hashlib
import json
import os
import pwd
import resource
import signal
import socket
import subprocess

import harness
import l2raw
import level2

FAILED, USAGE, MISSING, BAD_CONFIGURATION = 1, 2, 69, 78
# It binds an address that no other test binds: --check-config tells of a port that is taken, too.
HUGE = b'[outbox]\nmemory = "1024 GiB"\n[udp]\nbind = "127.77.0.1:42000"\n[tcp]\nbind = ""\n[monitor]\nbind = ""\n'
FILES = {  # what the commands are given; the names stand in the table
    "empty": b"", "text": b"This is no file of koto-l3.\n", "image.png": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "other.l2raw": b"KL3R\x02" + bytes(59), "other.kl3": b"KL3S\x03" + bytes(11), "other.json": b'{"ledger": 2}',
    "short.l3batch": b"KL3D\x01", "unknown-key.toml": b"[forward]\nrat = 1\n", "no-unit.toml": b"[outbox]\nmemory = 64\n",
    "bad-unit.toml": b'[outbox]\nmemory = "64 MIB"\n', "range.toml": b'[forward]\nrate = "1 b/s"\n',
    "receive-key.toml": b'secret-key = "x"\n', "receive-flag.toml": b"sync = 3\n", "receive-value.toml": b'\nbind = "127.0.0.1:42200"\n',
    "receive-list.toml": b'out = ["a", "b"]\n', "receive-other.toml": b"version = true\n", "receive-none.toml": b"sync = true\n",
    "receive-no-key.toml": b'out = "new"\nsecret_key = ""\nallow = "node1.public"\n',
    "receive-keys.toml": b'out = "new"\nsecret_key = "bad.secret"\nallow = "none"\n',
    "receive-service.toml": b'out = "new"\nsecret_key = "credential:receiver.secret"\nallow = "node1.public"\n',
    "receive-first.toml": b'out = "/var/lib/koto-l3-of-a-test/store"\n',
    "receive-deeper.toml": b'out = "/var/lib/koto-l3-of-a-test/2026/store"\n',
    "service.toml": b'[forward]\nsecret_key = "credential:node1.secret"\nreceiver_key = "node1.public"\n' + HUGE.replace(b"1024 GiB", b"64 MiB"),
    "node1.public": b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n",
    "home.toml": b'[spool]\nfolder = "~/spool"\n', "variable.toml": b'[run]\nledger = "/data/${USER}/"\n',
    "everywhere.toml": b'[forward]\nto = "tcp://*:42200"\n', "builtin.toml": b'[selection]\nlines = "builtin"\n',
    "receive-home.toml": b'out = "~/store"\n',
    "other.truth.jsonl": b'{"spill":1,"event":1}\n', "histograms.json": b'{"histograms":2}\n',
    "broken.toml": b"[forward\n", "huge.toml": HUGE, "no-line.toml": b"[[line]]\nname = 7\n",
    "bad.secret": b"not a key\n", "odd.u16": bytes(129),
}
BIG = str(1 << 70)

# (command line, exit code, a part of what is said); a name of FILES, "sent.l2raw", "none" or "none/deeper" is a path in the folder.
TABLE = [
    # Commands and options that are none
    ("koto-l3 verfy", USAGE, "no command 'verfy'; did you mean verify?"),
    ("koto-l3 frobnicate", USAGE, "no command 'frobnicate'; see koto-l3 --help"),
    ("koto-l3", USAGE, "A subcommand is required; see koto-l3 --help"),
    ("koto-l3 --vesion", USAGE, "no option --vesion; did you mean --version?"),
    ("koto-l3 replay sent.l2raw --rat 4Gb/s", USAGE, "no option --rat; did you mean --rate?"),
    ("koto-l3 verify sent.l2raw store --jsn", USAGE, "no option --jsn; did you mean --json?"),
    ("koto-l3 receive --secretkey=x", USAGE, "no option --secretkey; did you mean --secret-key?"),
    ("koto-l3 info sent.l2raw --xyzzy", USAGE, "no option --xyzzy; see koto-l3 info --help"),
    ("koto-l3 info", USAGE, "path is required; see koto-l3 info --help"),
    ("koto-l3 verify sent.l2raw", USAGE, "folder is required"),
    ("koto-l3 info sent.l2raw text", USAGE, "not expected: text"),
    ("koto-l3 replay sent.l2raw --loop", USAGE, "--loop"),
    ("koto-l3 run strat --socket none", USAGE, "koto-l3 run: no command 'strat'; did you mean start?"),
    ("koto-l3d --confg none", USAGE, "no option --confg; did you mean --config?"),
    ("koto-l3d none", USAGE, "not expected: none"),
    ("koto-l3-bench pck", USAGE, "no command 'pck'; did you mean pack?"),
    ("koto-l3-bench pack --repat 3", USAGE, "no option --repat"),
    # Numbers, units, addresses
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --rate 4GB/s", USAGE, "'4GB/s' is not a rate like 10000ev/s, 40Gb/s"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --rate fast", USAGE, "'fast' is not a rate"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --rate -1ev/s", USAGE, "'-1ev/s' is not a rate"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --window 64Mib", USAGE, "64Mib is not a number with a unit (B, kB, KiB"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --window 0", USAGE, "--window"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --timeout 3hours", USAGE, "3hours is not a number with a unit (ns, us, ms"),
    ("koto-l3 replay sent.l2raw --to udp://127.0.0.1:1 --end-delay 1us", USAGE, "1us is not a whole number of ms"),
    ("koto-l3 replay sent.l2raw --to udp://127.0.0.1:1 --chunk 3MiB", USAGE, "--chunk"),
    ("koto-l3 replay sent.l2raw --to udp://127.0.0.1:1 --chunk 4001", USAGE, "--chunk must be a multiple of 4"),
    ("koto-l3 replay sent.l2raw --to udp://127.0.0.1:1 --drop 200%", USAGE, "'200%' is not a probability like 0.01 or 1%"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --drop 1%", USAGE, "--drop and --duplicate are for udp://"),
    (f"koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --loop {BIG}", USAGE, "--loop"),
    ("koto-l3 replay sent.l2raw", USAGE, "--to is required"),
    ("koto-l3 replay sent.l2raw --to 127.0.0.1:42100", USAGE, "is not a destination like udp://host:42000+8"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:70000", USAGE, "is not a destination"),
    ("koto-l3 replay sent.l2raw --to tcp://no.invalid:1", FAILED, "tcp://no.invalid:1: "),
    ("koto-l3 replay sent.l2raw --on abacus", USAGE, "abacus"),
    ("koto-l3 simulate new.l2raw --events -3", USAGE, "--events"),
    ("koto-l3 simulate new.l2raw --events 2 --type kaon", USAGE, "kaon"),
    ("koto-l3 receive --out new --bind 127.0.0.1:42200", USAGE, "is not an endpoint like tcp://127.0.0.1:42200"),
    ("koto-l3 receive --out new --monitor 9421", USAGE, "9421 is not an address like 127.0.0.1:9421"),
    ("koto-l3 receive --out new --secret-key bad.secret", USAGE, "--secret-key requires --allow"),
    ("koto-l3 inspect sent.l2raw --event three", USAGE, "three is not SPILL/EVENT, such as 3/17"),
    ("koto-l3 inspect sent.l2raw --event 3/99", FAILED, "has no event 99 of spill 3: it holds 4 events of spills 3 to 3"),
    ("koto-l3 inspect sent.l2raw --event 3/1 --channel 99", FAILED, "the event has no channel 99, or did not keep its waveform: give CRATE"),
    ("koto-l3 run start --number 4294967296", USAGE, "koto-l3 run start: --number: 4294967296 is no whole number from 0 to 4294967295"),
    ("koto-l3 run start --number seven", USAGE, "--number: seven is no whole number from 0"),
    (("koto-l3", "run", "start", "--comment", "two\nlines"), USAGE, "--comment is no plain text: it holds \\u000a"),
    (("koto-l3", "run", "start", "--comment", b"\xff"), USAGE, "--comment is no plain text: it holds \\xff"),
    (("koto-l3", "run", "start", "--number", ""), USAGE, "koto-l3 run start: --number: the value is empty"),
    (("koto-l3", "run", "start", "--menu", ""), USAGE, "koto-l3 run start: --menu: the name is empty"),
    (("koto-l3", "run", "status", "--socket", ""), USAGE, "koto-l3 run status: --socket: the name is empty"),
    ("koto-l3 inspect sent.l2raw --event 3/1 --run 000010", FAILED, "sent.l2raw has no event of run 10: it holds run "),
    ("koto-l3 status 70000", USAGE, "'70000' is not an address like node1:9420"),
    ("koto-l3 run start --comment beam at 100 kW", USAGE, "not expected: at 100 kW; a text with blanks stands in quotes; see"),
    ("koto-l3 run --socket none start", USAGE, "koto-l3 run start: --socket stands behind the command; see koto-l3 run start --help"),
    ("koto-l3 --json run status", USAGE, "koto-l3 run status: --json stands behind the command; see koto-l3 run status --help"),
    ("koto-l3 reprocess store new --menu built-in --run 8", USAGE, "no option --run; see koto-l3 reprocess --help"),
    ("koto-l3 run start --number 0x10", USAGE, "koto-l3 run start: --number: 0x10 is no decimal number; see"),
    ("koto-l3 run start --number 1_000", USAGE, "--number: 1_000 is no decimal number"),
    ("koto-l3 simulate new.l2raw --seed 0b11", USAGE, "--seed: 0b11 is no decimal number"),
    ("koto-l3 run start --number 8 --number 9", USAGE, "koto-l3 run start: --number is given 2 times; give it once; see koto-l3 run start --help"),
    ("koto-l3 start", USAGE, "koto-l3: no command 'start'; did you mean run start? see koto-l3 --help"),
    ("koto-l3 stop --wait", USAGE, "no command 'stop'; did you mean run stop?"),
    ("koto-l3 run start -number 8", USAGE, "no option -number; did you mean --number?"),
    ("koto-l3 run start --socket none", MISSING, "no run control answers at none: No such file or directory (run.control of the daemon"),
    ("koto-l3 run start --socket text", MISSING, "no run control answers at text: Connection refused"),
    ("koto-l3 status https://node1", USAGE, "'https://node1' is not an address like node1:9420"),
    ("koto-l3 status --interval 1 node1", USAGE, "1 is not a time from"),
    ("koto-l3 pack odd.u16 new.kr --samples 65", USAGE, "--samples"),
    (("koto-l3", "histograms", "none", "--reference", ""), USAGE, "--reference: the name is empty"),
    (("koto-l3", "histograms", "none", "--save", ""), USAGE, "--save: the name is empty"),
    (("koto-l3", "receive", "--out", "new", "--secret-key", "", "--allow", ""), USAGE, "the name is empty"),
    (("koto-l3", "receive", "--out", ""), USAGE, "the name is empty"),
    (("koto-l3", "receive", "--config", ""), USAGE, "--config: the name is empty"),
    (("koto-l3d", "--config", "", "--check-config"), USAGE, "--config: the name is empty"),
    ("koto-l3 receive --config receive-no-key.toml", BAD_CONFIGURATION, "the name is empty"),
    # What is not there
    ("koto-l3 info none", MISSING, "none cannot be read: No such file or directory"),
    ("koto-l3 replay none --to tcp://127.0.0.1:1", MISSING, "cannot read none: No such file or directory"),
    ("koto-l3 verify sent.l2raw none", MISSING, "no store: there is no folder none"),
    ("koto-l3 verify sent.l2raw folder", MISSING, "no store: no file blocks-*.kl3 or spool-*.kl3 in folder, which is empty: so is a store before"),
    ("koto-l3 info folder", MISSING, "in folder, which is empty: so is a store before its first block, and a spool before the first start of its daemon"),
    ("koto-l3 extract spool new.bin", MISSING, "spool is a spool in which no block waits for the receiver"),
    ("koto-l3 verify sent.l2raw loop", MISSING, "loop cannot be used: Too many levels of symbolic links"),
    ("koto-l3 extract loop new.bin", MISSING, "loop cannot be used: Too many levels of symbolic links"),
    ("koto-l3 reprocess loop new --menu built-in", MISSING, "cannot read loop: Too many levels of symbolic links"),
    ("koto-l3 extract none new.bin", MISSING, "no store: there is no folder none"),
    ("koto-l3 verify sent.l2raw sent.l2raw", MISSING, "no store: sent.l2raw is a file, and a store is a folder\n"),
    ("koto-l3 efficiency sent.l2raw", MISSING, "no store: sent.l2raw is a file, and a store is a folder\n"),
    ("koto-l3 select none", MISSING, "cannot read none: No such file or directory"),
    ("koto-l3 select sent.l2raw --selection none", MISSING, "cannot read none"),
    ("koto-l3 evaluate none", MISSING, "cannot read none: No such file or directory"),
    ("koto-l3 doctor --config none", MISSING, "cannot read none"),
    ("koto-l3d --config none --check-config", BAD_CONFIGURATION, "none: cannot be read: No such file or directory"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --timeout 100ms", FAILED, "cannot connect to tcp://127.0.0.1:1: Connection refused"),
    # Files of other kinds and versions
    ("koto-l3 info empty", FAILED, "empty is empty"),
    ("koto-l3 info text", FAILED, "is none of the files that koto-l3 stores: it begins with 54 68 69 73"),
    ("koto-l3 info image.png", FAILED, "it begins with 89 50 4E 47"),
    ("koto-l3 info other.l2raw", FAILED, "of version 2; this koto-l3 reads version 1: use the koto-l3 that wrote it"),
    ("koto-l3 info other.kl3", FAILED, "of version 3; this koto-l3 reads versions 1 to 2"),
    ("koto-l3 info other.json", FAILED, "not a ledger: it is of version 2; this program reads version 1"),
    ("koto-l3 info other.truth.jsonl", FAILED, "is the truth of simulated events, with which `koto-l3 evaluate` compares; `koto-l3 info` tells of the .l2raw"),
    ("koto-l3 info histograms.json", FAILED, "is a file of histograms, which `koto-l3 histograms` shows"),
    ("koto-l3 info short.l3batch", FAILED, "short.l3batch: ends too early, at offset 5"),
    ("koto-l3 inspect other.json --event 3/1", FAILED, "is a ledger, which holds no events to look at"),
    ("koto-l3 replay text --to tcp://127.0.0.1:1", FAILED, "text is not an .l2raw file"),
    ("koto-l3 replay other.l2raw --to tcp://127.0.0.1:1", FAILED, "is of version 2 of .l2raw files at offset 0, and this program reads"),
    ("koto-l3 replay sent.l2raw --on serial", FAILED, "is no .l3batch file; others are sent somewhere, --to"),
    ("koto-l3 verify text store", FAILED, "text is not an .l2raw file"),
    ("koto-l3 select image.png", FAILED, "image.png is not an .l2raw file"),
    ("koto-l3 select sent.l2raw --selection no-line.toml", BAD_CONFIGURATION, "no-line.toml:"),
    ("koto-l3 unpack text new.u16", FAILED, "offset 0: a record of N = 84 bits; there are at most 16"),
    ("koto-l3 pack odd.u16 new.kr", FAILED, "offset 128: 1 bytes are left, not a whole waveform of 64 samples"),
    # Configurations
    ("koto-l3d --config unknown-key.toml --check-config", BAD_CONFIGURATION, "forward.rat is not a key; did you mean forward.rate?"),
    ("koto-l3d --config no-unit.toml --check-config", BAD_CONFIGURATION, "write a number and a unit (B, kB, KiB"),
    ("koto-l3d --config bad-unit.toml --check-config", BAD_CONFIGURATION, "is not a size"),
    ("koto-l3d --config range.toml --check-config", BAD_CONFIGURATION, "is out of range"),
    ("koto-l3d --config home.toml --check-config", BAD_CONFIGURATION, 'spool.folder = "~/spool" is taken as it stands, and only a shell knows the home folder "~": write the whole path'),
    ("koto-l3d --config variable.toml --check-config", BAD_CONFIGURATION, 'only a shell knows variables like "$HOME": write the whole path'),
    ("koto-l3d --config everywhere.toml --check-config", BAD_CONFIGURATION, 'forward.to = "tcp://*:42200" has no host to send to'),
    ("koto-l3d --config builtin.toml --check-config", BAD_CONFIGURATION,
     'builtin.toml:2:9: selection.lines = "builtin": the file cannot be read: No such file or directory; did you mean "built-in"?'),
    ("koto-l3 verify builtin store", MISSING, "cannot read builtin: No such file or directory\n"),
    ("koto-l3 select sent.l2raw --selection Built_in", MISSING, 'cannot read Built_in: No such file or directory; did you mean "built-in"?'),
    ("koto-l3 receive --config receive-home.toml", BAD_CONFIGURATION, "write the whole path"),
    ("koto-l3 receive --out=~/store", USAGE, "--out: ~/store is taken as it stands, and only a shell knows the home folder"),
    ("koto-l3 receive --out spool", USAGE, "--out: spool is the spool of a daemon (spool.folder): give the store a folder of its own"),
    ("koto-l3 receive --out spool --check-config", USAGE, "give the store a folder of its own"),
    ("koto-l3 receive --out locked", USAGE, "a daemon's folder of ledgers (run.ledger), of which node3.lock is a file: give"),
    ("koto-l3 receive --out ledgers", USAGE, "a daemon's folder of ledgers (run.ledger), of which run000007-3-00000000000000ab.json is a file: give"),
    ("koto-l3d --config broken.toml --check-config", BAD_CONFIGURATION, "broken.toml:1"),
    ("koto-l3 receive --config receive-key.toml", BAD_CONFIGURATION, "receive-key.toml:1:1: secret-key is not a key; did you mean secret_key?"),
    ("koto-l3 receive --config receive-flag.toml", BAD_CONFIGURATION, "receive-flag.toml:1:8: sync = 3 is not true or false"),
    ("koto-l3 receive --config receive-value.toml", BAD_CONFIGURATION, "receive-value.toml:2:8: bind = \"127.0.0.1:42200\": 127.0.0.1:42200 is not an endpoint"),
    ("koto-l3 receive --config receive-list.toml", BAD_CONFIGURATION, "is not one text or number"),
    ("koto-l3 receive --config receive-other.toml", BAD_CONFIGURATION, "version is not a key"),
    ("koto-l3 receive --config receive-none.toml", USAGE, "--out is required; see koto-l3 receive --help"),
    ("koto-l3 receive --config receive-keys.toml --check-config", BAD_CONFIGURATION, "bad.secret:1: no key"),
    ("koto-l3 receive --config broken.toml", BAD_CONFIGURATION, "broken.toml:1"),
    ("koto-l3 receive --config none", BAD_CONFIGURATION, "none: cannot be read"),
    ("koto-l3d --config text --check-config", BAD_CONFIGURATION, "text:1"),
    ("koto-l3d --config folder --check-config", BAD_CONFIGURATION, "folder: cannot be read: Is a directory"),
    ("koto-l3d --config huge.toml --check-config", MISSING, "lower outbox.memory"),
    # Where output shall go
    ("koto-l3 simulate none/deeper/new.l2raw --events 2", MISSING, "No such file or directory"),
    ("koto-l3 simulate folder --events 2", MISSING, "folder: Is a directory"),
    ("koto-l3 histograms none --save text", FAILED, "text is there already, and --save did not write it: it stays as it is"),
    ("koto-l3 histograms none --save store/blocks-000001.kl3", FAILED, "store/blocks-000001.kl3 is there already"),
    ("koto-l3 histograms none --save image.png", FAILED, "image.png is there already"),
    ("koto-l3 simulate sent.l2raw --events 2", FAILED, "sent.l2raw is there already, and simulate did not write it"),
    ("koto-l3 simulate text --events 2", FAILED, "text is there already, and simulate did not write it"),
    ("koto-l3 extract store sent.l2raw", FAILED, "sent.l2raw is there already, and extract did not write it"),
    ("koto-l3 extract store text", FAILED, "text is there already, and extract did not write it"),
    ("koto-l3 pack odd.u16 sent.l2raw", FAILED, "sent.l2raw is there already, and pack did not write it"),
    ("koto-l3 unpack text sent.l2raw", FAILED, "sent.l2raw is there already, and unpack did not write it"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --ledger text", FAILED, "text is there already, and --ledger did not write it"),
    ("koto-l3 unpack text odd.u16", FAILED, "odd.u16 is there already, and samples do not tell whether unpack wrote them"),
    ("koto-l3 unpack odd.u16 text", FAILED, "text is there already, and unpack did not write it"),
    ("koto-l3 unpack odd.u16 ledgers/run000007-3-00000000000000ab.json", FAILED, "is there already, and unpack did not write it"),
    ("koto-l3 receive --out new --ledger sent.l2raw", FAILED, "sent.l2raw is there already, and --ledger did not write it"),
    ("koto-l3 receive --out new --ledger text", FAILED, "text is there already, and --ledger did not write it"),
    ("koto-l3 receive --out new --ledger text --check-config", FAILED, "text is there already, and --ledger did not write it"),
    ("koto-l3 receive --out new --ledger new/blocks-000001-run000007-node0.json", USAGE, "a file of a store or a spool may get the name"),
    ("koto-l3 receive --out new --ledger new/tokens.kl3t --check-config", USAGE, "may get the name new/tokens.kl3t: choose another, as ledger.json"),
    ("koto-l3 receive --out new/ --ledger new --check-config", MISSING, "--ledger: cannot write new: it is a folder"),
    ("koto-l3 receive --out new --ledger folder --check-config", MISSING, "--ledger: cannot write folder: it is a folder"),
    ("koto-l3 receive --out new --ledger nowhere/ledger.json --check-config", MISSING, "there is no folder nowhere"),
    ("koto-l3 receive --out new --ledger /dev/null --check-config", MISSING, "it is no regular file"),
    ("koto-l3 receive --out new --bind tcp://127.0.0.1:9421 --monitor 127.0.0.1:9421 --check-config", MISSING, "have one port, 127.0.0.1:9421: give them two"),
    ("koto-l3 receive --out new --ledger ledgers/run000007-3-00000000000000ab.json", FAILED, "is there already, and --ledger did not write it"),
    ("koto-l3 receive --out new --ledger replays/replay.json", FAILED, "replays/replay.json is there already, and --ledger did not write it"),
    ("koto-l3 receive --out new --ledger link", FAILED, "link is there already, and --ledger did not write it"),
    ("koto-l3 replay late.l2raw --to tcp://127.0.0.1:1", FAILED, "late.l2raw: event 1 of spill 3 is due 576460752 s after its spill began"),
    ("koto-l3 replay late.l2raw --to udp://127.0.0.1:1+1", FAILED, "with --rate it is sent without the file's times"),
    ("koto-l3 receive --out none/deeper", MISSING, "cannot make the folder none/deeper"),
    ("koto-l3 receive --out none/deeper --check-config", MISSING, "cannot make the folder none/deeper"),
    ("koto-l3 receive --config receive-deeper.toml --check-config", MISSING, "there is no folder /var/lib/koto-l3-of-a-test/2026"),
    ("koto-l3 receive --out text --check-config", MISSING, "cannot open the folder text: Not a directory"),
    ("koto-l3 receive --out text", MISSING, "cannot open the folder text: Not a directory"),
    (f"koto-l3 pack empty {'x' * 300}", MISSING, "x cannot be used: File name too long"),
    ("koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --ledger pipe", MISSING, "cannot write pipe, which is no regular file: File exists"),
    ("koto-l3 demo --folder none/deeper", MISSING, "No such file or directory"),
    ("koto-l3 keys none/deeper/new", MISSING, "cannot write none/deeper/new.secret: No such file or directory"),
    ("koto-l3 keys sent.l2raw/new", MISSING, "cannot write sent.l2raw/new.secret: Not a directory"),
]


class Mistakes(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 23)
        self.events = {3: [maker.fragments(3, n) for n in range(1, 5)]}
        l2raw.write(self.folder / "sent.l2raw", self.crates, self.events)
        l2raw.write(self.folder / "late.l2raw", self.crates, self.events, spacing=1 << 59)
        for name, data in FILES.items():
            (self.folder / name).write_bytes(data)
        (self.folder / "bad.secret").chmod(0o600)
        (self.folder / "folder").mkdir()
        ledger = {"ledger": 1, "run": 7, "ended": True, "clean": True, "earlier_spills": {"spills": 0, "admitted": 0, "incomplete": 0}, "spills": [],
                  "fragments": dict.fromkeys(("seen", "admitted", "incomplete", "late", "duplicate"), 0) | {"malformed": {}},
                  "events": dict.fromkeys(("admitted", "forwarded", "rejected", "in_flight"), 0) | {"shed": {}},
                  "datagrams": dict.fromkeys(("received", "data", "trailers", "end_of_spill", "duplicate", "late", "kernel_drops"), 0) | {"malformed": {}},
                  "bytes": {"in": 0, "out": 0, "payloads": {}}}
        for name, data in (("spool/released.kl3r", ""), ("locked/node3.lock", ""),
                           ("replays/replay.json", json.dumps(ledger | {"program": "replay"})),
                           ("ledgers/run000007-3-00000000000000ab.json", json.dumps(ledger | {"program": "koto-l3d"}))):
            (self.folder / name).parent.mkdir()
            (self.folder / name).write_text(data)
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "link").symlink_to("text")
        os.mkfifo(self.folder / "pipe")
        self.store.mkdir()
        (self.store / "blocks-000001.kl3").write_bytes(b"KL3S\x02\x01" + bytes(2) + (1).to_bytes(8, "little"))

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

    def test_each_is_told_in_a_sentence_and_changes_nothing(self):
        before = self.files()
        for line, code, text in TABLE:
            with self.subTest(line):
                self.assert_said(self.run_line(line), line, code, text)
                self.assertEqual(self.files(), before, "no file is made or changed")

    def test_what_a_command_wrote_it_may_replace(self):
        (self.folder / "even.u16").write_bytes(bytes(128))
        for line in ("koto-l3 simulate new.l2raw --events 2", "koto-l3 pack even.u16 new.kr",
                     "koto-l3 pack even.u16 new.kr --codec strong",
                     "koto-l3 replay sent.l2raw --to tcp://127.0.0.1:1 --timeout 1ms --ledger new.json"):
            for _ in range(2):
                with self.subTest(line):
                    self.assertNotIn("is there already", self.run_line(line).stderr)
        self.assertEqual({p.name for p in self.folder.glob("new*")}, {"new.l2raw", "new.l2raw.truth.jsonl", "new.kr", "new.json"})

    def test_what_only_the_service_gets_is_no_mistake(self):
        """A package's installation and Ansible check a configuration outside of its service."""
        before = self.files()
        for line, file, key in (("koto-l3 receive --config receive-service.toml --check-config", "receive-service.toml", "secret_key: credential:receiver.secret"),
                                ("koto-l3d --config service.toml --check-config", "service.toml", "forward.secret_key: credential:node1.secret")):
            p = self.run_line(line)
            self.assertEqual((p.returncode, p.stdout), (0, f"{file}: ok\n"), p.stderr)
            self.assertIn(f"{key} was not looked at: the service alone gets it", p.stderr)
        p = self.run_line("koto-l3 receive --config receive-first.toml --check-config")
        self.assertEqual((p.returncode, p.stdout), (0, "receive-first.toml: ok\n"), p.stderr)
        self.assertIn("there is no folder /var/lib/koto-l3-of-a-test yet: it comes with the service", p.stderr)
        self.assertEqual(self.files(), before)
        self.assertEqual(self.run_line("koto-l3d --config service.toml").returncode, BAD_CONFIGURATION)
        self.assertEqual(self.run_line("koto-l3 receive --config receive-first.toml").returncode, MISSING)

    def test_the_table_is_long_enough(self):
        self.assertGreaterEqual(len(TABLE), 60)
        self.assertEqual(len({line for line, _, _ in TABLE}), len(TABLE))


class WhatTheSystemRefuses(Mistakes):
    """No room, no permission, closed pipes, Ctrl-C."""
    test_each_is_told_in_a_sentence_and_changes_nothing = test_what_a_command_wrote_it_may_replace = test_what_only_the_service_gets_is_no_mistake = test_the_table_is_long_enough = None

    def test_no_room(self):
        for line in ("koto-l3 info sent.l2raw", "koto-l3 info sent.l2raw --json", "koto-l3 inspect sent.l2raw --event 3/1",
                     "koto-l3 --help", "koto-l3 replay --help", "koto-l3 --version", "koto-l3d --version", "koto-l3d --print-config",
                     "koto-l3 doctor"):
            with self.subTest(line), open("/dev/full", "wb") as full:
                p = self.run_line(line, stdout=full)
                self.assertEqual(p.returncode, FAILED, p.stderr)
                self.assertIn("standard output could not be written", p.stderr)

    def test_a_file_that_may_not_grow(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        p = self.run_line("koto-l3 simulate new.l2raw --events 4", preexec_fn=small)
        self.assertEqual(p.returncode, FAILED, p.stderr)
        self.assertIn("File too large", p.stderr)
        self.assertFalse((self.folder / "new.l2raw").exists())

    def test_no_permission(self):
        (self.folder / "sent.l2raw").chmod(0)
        (self.folder / "folder").chmod(0o555)
        self.folder.chmod(0o755)
        # Root may read and write anything: the command then runs as another user.
        as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        for line, text in (("koto-l3 info sent.l2raw", "Permission denied"),
                           ("koto-l3 simulate folder/new.l2raw --events 2", "Permission denied"),
                           ("koto-l3 receive --out folder/new", "Permission denied")):
            with self.subTest(line):
                self.assert_said(self.run_line(line, **as_nobody), line, MISSING, text)
        self.assert_names_who_may_open(as_nobody)

    def assert_names_who_may_open(self, as_nobody):
        user = pwd.getpwuid(os.geteuid()).pw_name
        inner = self.folder / "inner"
        inner.mkdir()
        others = [] if os.geteuid() == 0 else ["root"]
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(str(inner / "control.sock"))
            control.listen()
            for locked, mode, name, who in ((inner / "control.sock", 0o660, "it", [f"the user {user}", f"the group {grp.getgrgid(os.getegid()).gr_name}", *others]),
                                            (inner / "control.sock", 0, "it", ["root"]),
                                            (inner, 0o700, str(inner.name), [f"the user {user}", *others])):
                if not as_nobody and mode:
                    continue  # this user may open it
                locked.chmod(mode)
                line = "koto-l3 run status --socket inner/control.sock"
                with self.subTest(mode=oct(mode)):
                    self.assert_said(self.run_line(line, **as_nobody), line, MISSING,
                                     f"no permission to open inner/control.sock: {name} is open to {' and '.join(who)} (run.control of the daemon, --socket)")
        inner.chmod(0o755)

    def test_a_closed_pipe(self):
        for line in ("koto-l3 info sent.l2raw", "koto-l3 inspect sent.l2raw --event 3/1 --json", "koto-l3 select --help",
                     "koto-l3d --print-config"):
            with self.subTest(line):
                read, write = os.pipe()
                os.close(read)
                p = self.run_line(line, stdout=write)
                os.close(write)
                self.assertIn(p.returncode, (FAILED, -signal.SIGPIPE), p.stderr)

    def test_ctrl_c(self):
        endless = self.folder / "long.l2raw"
        maker = level2.EventMaker(self.crates, 29)
        l2raw.write(endless, self.crates, {1: [maker.fragments(1, n) for n in range(1, 40)]})
        with socket.socket() as silent:
            silent.bind((harness.HOST, 0))
            silent.listen()
            self.assert_interrupted(endless, silent.getsockname()[1])
        self.assertFalse((self.folder / "new.l2raw").exists())

    def assert_interrupted(self, endless, silent):
        for arguments in (("replay", endless, "--to", f"udp://{harness.HOST}:{self.ports.udp}+8", "--rate", "0.5ev/s"),
                          ("replay", endless, "--to", f"tcp://{harness.HOST}:{silent}", "--timeout", "1000000"),
                          ("simulate", self.folder / "new.l2raw", "--events", "2000000", "--spills", "400")):
            with self.subTest(arguments):
                p = self.start_tool(*arguments)
                harness.wait_until(lambda p=p: p.catches(signal.SIGINT) or self.blocks(p, signal.SIGINT) or not p.running(), "its loop")
                p.signal(signal.SIGINT)
                self.assertEqual(p.wait(), FAILED, p.said())
                self.assertIn("interrupted", p.said())

    @staticmethod
    def blocks(program, number):
        with open(f"/proc/{program.pid}/status", encoding="ascii") as f:
            masks = dict(line.split(":\t") for line in f if line.startswith("SigBlk"))
        return int(masks["SigBlk"], 16) >> number - 1 & 1 == 1


class DamagedInput(harness.SystemTest):
    """Each command that reads level-2 data or a store offers --skip-damaged, and then says the same and ends with 0."""
    OFFER = "(--skip-damaged accepts that)"

    def setUp(self):
        super().setUp()
        self.sent = self.folder / "sent.l2raw"
        code, text = self.run_tool("simulate", self.sent, "--events", "20", "--spills", "2")
        self.assertEqual(code, 0, text)
        data = bytearray(self.sent.read_bytes())
        data[len(data) // 3] ^= 1
        self.sent.write_bytes(data)

    def test_level_2_data(self):
        taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(taker.close)
        taker.bind((harness.HOST, self.ports.udp))
        for *arguments, read in (("select", self.sent, "--totals", "pass_through +100 +19 "), ("evaluate", self.sent, "true type "),
                                 ("replay", self.sent, "--to", f"udp://{harness.HOST}:{self.ports.udp}+1", "--rate", "unlimited", "events sent +19 ")):
            with self.subTest(arguments[0]):
                code, text = self.run_tool(*arguments)
                self.assertEqual(code, FAILED, text)
                self.assertIn(self.OFFER, text)
                code, text = self.run_tool(*arguments, "--skip-damaged")
                self.assertEqual(code, 0, text)
                self.assertIn("sent.l2raw is damaged at 1 place, ", text)
                self.assertIn(", 1 record, which are left out", text)
                self.assertRegex(text, read)

    def test_what_is_no_such_file_is_refused_still(self):
        self.sent.write_bytes(b"This is no file of koto-l3.\n" * 100)
        for arguments in (("select", self.sent), ("replay", self.sent, "--to", f"udp://{harness.HOST}:{self.ports.udp}+1")):
            with self.subTest(arguments[0]):
                code, text = self.run_tool(*arguments, "--skip-damaged")
                self.assertEqual(code, FAILED, text)
                self.assertIn("is not an .l2raw file", text)
                self.assertNotIn("accepts", text)


class Damaged(harness.SystemTest):
    """What is behind damage is read if it is asked for, and what is left out is counted."""
    EVENTS = 30

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 31)
        events = [maker.fragments(3, n) for n in range(1, self.EVENTS + 1)]
        self.sent = self.folder / "sent.l2raw"
        l2raw.write(self.sent, self.crates, {3: events})
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "64 KiB"})
        sender = self.udp_sender(daemon)
        for number, fragments in enumerate(events, 1):
            sender.event(3, number, fragments)
        daemon.wait_for_stored(self.EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)

    def verify(self, *more, code=0):
        p = subprocess.run([harness.BIN / "koto-l3", "verify", self.sent, self.store, "--json", *more], capture_output=True, text=True,
                           timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return json.loads(p.stdout)

    def flip(self, path, place):
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)

    def test_a_level_2_file(self):
        self.assertEqual(self.verify("--skip-damaged")["left_out"]["places"], 0)
        self.flip(self.sent, self.sent.stat().st_size // 2)
        self.assertLess(self.verify(code=FAILED)["events"]["equal"], self.EVENTS - 1)
        said = self.verify("--skip-damaged")
        self.assertEqual(said["events"]["equal"], self.EVENTS - 1)
        left = said["left_out"]
        self.assertEqual((left["places"], left["records"], left["to_the_end"], left["unchecked"]), (1, 1, False, 1))
        self.assertGreater(left["bytes"], 1000)
        code, text = self.run_tool("verify", self.sent, self.store, "--skip-damaged")
        self.assertEqual(code, 0)
        self.assertIn("is damaged at 1 place,", text)

    def test_a_level_2_file_that_is_cut(self):
        self.sent.write_bytes(self.sent.read_bytes()[:self.sent.stat().st_size // 2])
        self.verify(code=FAILED)
        left = self.verify("--skip-damaged")["left_out"]
        self.assertTrue(left["to_the_end"])
        self.assertGreater(left["unchecked"], self.EVENTS // 3)

    def test_a_store(self):
        file = harness.store_file(self.store)
        self.flip(file, file.stat().st_size // 2)
        self.verify(code=FAILED)
        said = self.verify("--skip-damaged")
        self.assertGreater(said["events"]["missing"], 0)
        self.assertEqual(said["events"]["equal"] + said["events"]["missing"], self.EVENTS)
        out = self.folder / "out.bin"
        code, text = self.run_tool("extract", self.store, out)
        self.assertEqual(code, FAILED)
        self.assertIn("--skip-damaged", text)
        out.unlink()
        for _ in range(2):  # it may replace what it wrote
            code, text = self.run_tool("extract", self.store, out, "--skip-damaged")
            self.assertEqual(code, 0, text)
        self.assertIn("1 places of the store are damaged; the events there are left out", text)
        self.assertIn(f"{said['events']['equal']} events", text)
        # An event that was never sent is missing beside those in the damaged block.
        maker = level2.EventMaker(self.crates, 31)
        events = [maker.fragments(3, n) for n in range(1, self.EVENTS + 2)]
        l2raw.write(self.sent, self.crates, {3: events})
        self.assertEqual(self.verify("--skip-damaged", code=FAILED)["events"]["missing"], said["events"]["missing"] + 1)
        self.flip(file, file.stat().st_size - 100)  # and with less of the store
        self.verify("--skip-damaged", code=FAILED)

    def test_what_differs_is_still_wrong(self):
        maker = level2.EventMaker(self.crates, 32)
        l2raw.write(self.sent, self.crates, {3: [maker.fragments(3, n) for n in range(1, self.EVENTS + 1)]})
        self.assertEqual(self.verify("--skip-damaged", code=FAILED)["events"]["different"], self.EVENTS)


if __name__ == "__main__":
    harness.main()
