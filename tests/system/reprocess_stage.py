# SPDX-License-Identifier: Apache-2.0
"""What tests of `koto-l3 reprocess` share: a store of which every event was kept, cut into files, and files that are told apart."""
import json
import pathlib
import re
import struct
import subprocess

import harness
import store_reader
from crc32c import crc32c
from selection_stage import RUN, Selecting

NODE = 3  # of the harness's daemon
HEAD = store_reader.FILE_HEADER


def blocks_in(file):
    """[(fields of the header, packed events)] of a file that holds whole blocks only."""
    data, at, found = pathlib.Path(file).read_bytes(), HEAD.size, []
    while at < len(data):
        fields = store_reader.BLOCK_HEADER.unpack_from(data, at)
        end = at + store_reader.BLOCK_HEADER.size + fields[4]
        found.append((fields, data[at + store_reader.BLOCK_HEADER.size:end - fields[12]]))
        at = end
    return found


def packed_in(payload):
    """The packed events of a payload."""
    found, at = [], 0
    while at < len(payload):
        length = struct.unpack_from("<I", payload, at)[0]
        found.append(payload[at:at + length])
        at += length
    return found


def block_of(fields, events, run=None, session=None):
    """A block like that of these fields, with these packed events."""
    payload = b"".join(events)
    changed = list(fields)
    changed[1], changed[12] = 1, 0  # without settings
    changed[4], changed[5], changed[-2] = len(payload), len(events), crc32c(payload)
    if run is not None:
        changed[8] = run
    if session is not None:
        changed[6] = session
    head = store_reader.BLOCK_HEADER.pack(*changed)[:60]
    return head + struct.pack("<I", crc32c(head)) + payload


def write_file(folder, number, blocks, owner=f"run{RUN:06}-node{NODE}"):
    """A complete file of a store, and of its sidecar what readers compare."""
    folder.mkdir(exist_ok=True)
    file = folder / f"blocks-{number:06}-{owner}.kl3"
    data = HEAD.pack(b"KL3S", 1, b"\1\0\0", number) + b"".join(blocks)
    file.write_bytes(data)
    sidecar = {"sidecar": 1, "bytes": len(data), "crc32c": f"{crc32c(data):08x}", "events": sum(fields[5] for fields, _ in blocks_in(file))}
    file.with_suffix(".json").write_text(json.dumps(sidecar))
    return file


class Reprocessing(Selecting):
    EVENTS, FILES = 40, 5

    def stored_whole(self, events=None):
        """(the file that was sent, a store of all its events in so many files)"""
        sent = self.simulate(events or self.EVENTS)
        self.store = self.folder / "received"
        self.start_receiver()
        daemon = self.start_daemon(frames=self.frames, outbox={"block": "512 KiB"}, building={"chunk_bytes": self.chunk_bytes})
        code, said = self.run_tool("replay", sent, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        daemon.wait_for_stored(events or self.EVENTS)
        self.finish(daemon)
        blocks = [block_of(*(fields, packed_in(payload))) for fields, payload in blocks_in(harness.store_file(self.store))]
        self.assertGreaterEqual(len(blocks), self.FILES)
        cut = self.folder / "cut"
        for n in range(self.FILES):
            write_file(cut, n + 1, blocks[n * len(blocks) // self.FILES:(n + 1) * len(blocks) // self.FILES])
        return sent, cut

    def reprocess(self, *arguments, code=0):
        """What it said, as JSON if it is any."""
        p = subprocess.run([harness.BIN / "koto-l3", "reprocess", *map(str, arguments)], capture_output=True, text=True,
                           timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return json.loads(p.stdout) if p.stdout.startswith("{") else p.stdout + p.stderr

    def check(self, out, code=0):
        return self.reprocess("--out", out, "--check", "--json", code=code)

    def bytes_of(self, out):
        """{name: bytes} of all that is written; nothing else may lie there."""
        found = {str(f.relative_to(out)): f.read_bytes() for f in pathlib.Path(out).rglob("*") if f.is_file()}
        expected = re.compile(r"blocks-\d{6}-run\d{6}-node\d+\.(kl3|json)|ledger\.json|"
                              r"reprocess/(plan\.json|manifest\.json|menu\.toml|task-\d{6}\.json|slurm-.*\.log)")
        self.assertEqual([n for n in found if not expected.fullmatch(n)], [])
        return {n: b for n, b in found.items() if not n.startswith("reprocess/slurm-")}

    def assert_same(self, one, other):
        one, other = self.bytes_of(one), self.bytes_of(other)
        self.assertEqual(one.keys(), other.keys())
        self.assertEqual([n for n in one if one[n] != other[n]], [], "not the same bytes")
