#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored runs decided and packed again: bit for bit what a daemon with that selection would have stored, on every executor, also
after kill -9; and a check that finds each event that is missing, double or changed. tests/slurm does the same by Slurm."""
import json
import os
import shutil
import signal
import socket
import subprocess

import harness
import level2
import store_reader
from crc32c import crc32c
from reprocess_stage import NODE, Reprocessing, block_of, blocks_in, packed_in, write_file
from selection_stage import BAD_CONFIGURATION, DEPLOY, FAILED, MISSING, RUN, SELECTION

USAGE = 2


class Files(harness.SystemTest):
    def test_a_plan_of_64_mib_and_32_deep(self):
        file = self.folder / "out/reprocess/plan.json"
        file.parent.mkdir(parents=True)

        def told(text):
            file.write_text(text)
            code, said = self.run_tool("reprocess", "--out", self.folder / "out", "--check")
            self.assertEqual(code, FAILED, said)
            return said

        for depth, text in ((32, "is no plan"), (33, "is no JSON: too deep")):
            self.assertIn(text, told("[" * depth + "]" * depth))
        self.assertIn("is no JSON: incomplete JSON", told(" " * (64 << 20)))
        self.assertIn("has 67108865 bytes; at most 67108864 are read", told(" " * ((64 << 20) + 1)))


class Again(Reprocessing):
    def test_what_a_daemon_would_have_stored(self):
        sent, cut = self.stored_whole()
        out = self.folder / "out"
        said = self.reprocess(cut, "--menu", "built-in", "--out", out, "--jobs", "2", "--json")
        kept = self.select(sent)["total"]["kept"]
        self.assertEqual(said["events"], {"in": self.EVENTS, "kept": kept, "rejected": self.EVENTS - kept, "limited": 0, "unreadable": 0,
                                          "not_judged": 0})
        self.assertEqual((said["tasks"], said["tasks_run"]), (self.FILES, self.FILES))
        code, verdict = self.verify(sent, "--selection", "built-in", store=out)
        self.assertEqual((code, verdict["holds"]), (0, True), verdict)
        self.assertEqual((verdict["events"]["equal"], verdict["events"]["rejected"]), (kept, self.EVENTS - kept))
        self.assertTrue(self.check(out)["holds"])

        # The same bytes as those of a daemon that selects.
        self.ports, self.store = harness.Ports(), self.folder / "selected"
        self.finish(self.run_daemon(self.EVENTS, file=sent))
        again = store_reader.packed_events_of(out)
        self.assertTrue(store_reader.packed_events_of(self.store) == again, "not the bytes of a daemon")
        self.assert_summaries(self.select(sent), again)

        # Every tool reads it, and a reprocessing of it keeps all.
        code, said = self.run_tool("info", out)
        self.assertEqual(code, 0, said)
        twice = self.folder / "twice"
        said = self.reprocess(out, "--menu", "built-in", "--out", twice, "--json")
        self.assertEqual((said["events"]["kept"], said["events"]["rejected"]), (kept, 0))
        self.assertTrue(store_reader.packed_events_of(twice) == again)

        # The bytes do not depend on where they were computed.
        for executor, jobs, batch in (("serial", 1, 3), ("pool", 3, 64)):
            other = self.folder / executor
            self.reprocess(cut, "--menu", "built-in", "--out", other, "--executor", executor, "--jobs", jobs, "--batch", batch)
            self.assert_same(out, other)

    def test_goes_on_after_kill_and_checks(self):
        sent, cut = self.stored_whole()
        menu = self.write(SELECTION)
        whole = self.folder / "whole"
        self.reprocess(cut, "--menu", menu, "--out", whole)
        out = self.folder / "out"
        for n in (1, 3):
            p = self.start_tool("reprocess", cut, "--menu", menu, "--out", out, "--jobs", "2", "--executor", "serial")
            harness.wait_until(lambda: len(list(out.glob("reprocess/task-*.json"))) >= n or not p.running(), f"{n} tasks done")
            p.kill()
        done = len(list(out.glob("reprocess/task-*.json")))
        if done < self.FILES:
            verdict = self.check(out, code=FAILED)
            self.assertEqual((len(verdict["missing"]), verdict["tasks_done"]), (self.FILES - done, done), verdict)
        ended = subprocess.Popen(["true"])
        ended.wait()
        half = [out / f"reprocess/{name}-{socket.gethostname()}-{ended.pid}.new" for name in ("task-000002", "task-000001.json", "manifest.json")]
        of_others = [out / f"reprocess/plan.json-{socket.gethostname()}-{os.getpid()}.new", out / f"reprocess/plan.json-other-{ended.pid}.new"]
        for file in half + of_others:
            file.write_text("half")
        said = self.reprocess("--out", out, "--json")
        self.assertEqual([f.name for f in half if f.exists()], [], "left by a process that has ended")
        for file in of_others:
            file.unlink()  # it is there: somebody may be writing it
        self.assertEqual((said["tasks"], said["tasks_run"]), (self.FILES, self.FILES - done))
        self.assert_same(whole, out)
        self.assertTrue(self.check(out)["holds"])
        self.assertEqual(self.reprocess(cut, "--menu", menu, "--out", out, "--json")["tasks_run"], 0)
        code, verdict = self.verify(sent, "--selection", menu, store=out)
        self.assertEqual((code, verdict["holds"]), (0, True), verdict)
        self.find_what_is_wrong(out, cut)
        self.refuse(cut, menu, out)

    def find_what_is_wrong(self, out, cut):
        """Each fault is made, told, and taken back."""
        files = sorted(out.glob("blocks-*.kl3"))
        first = max(files, key=lambda f: sum(len(packed_in(p)) for _, p in blocks_in(f)))
        task = int(first.name[7:13])
        record = out / f"reprocess/task-{task:06}.json"
        manifest = out / "reprocess/manifest.json"
        keep = {f: f.read_bytes() for f in (first, record, manifest)}
        given = next(cut.glob(f"blocks-{task:06}-*.kl3"))
        keep[given] = given.read_bytes()

        def told(kind, text):
            verdict = self.check(out, code=FAILED)
            self.assertFalse(verdict["holds"])
            self.assertTrue(any(text in t for t in verdict[kind]), (kind, text, verdict))
            for f, data in keep.items():
                f.write_bytes(data)

        def forge(blocks):
            """An output whose checksums, record and manifest are all right."""
            write_file(out, task, [block_of(fields, events) for fields, events in blocks])
            account = json.loads(keep[record])
            data = first.read_bytes()
            account["output"].update(bytes=len(data), crc32c=f"{crc32c(data):08x}")
            record.write_text(json.dumps(account))
            whole = json.loads(keep[manifest])
            whole["files"][task - 1] = account
            manifest.write_text(json.dumps(whole))

        first.unlink()
        told("missing", "it is not there")
        record.unlink()
        told("missing", "is not done")
        given.rename(self.folder / "away")
        told("missing", "it is not there")
        (self.folder / "away").unlink()
        first.write_bytes(keep[first][:-1] + bytes([keep[first][-1] ^ 1]))
        told("changed", "CRC-32C")
        given.write_bytes(keep[given] + b"x")
        told("changed", "CRC-32C")
        manifest.write_text("{}")
        told("changed", "no manifest")
        copy = write_file(out, 99, [keep[first][16:]])
        told("double", "no record tells of this file")
        copy.unlink()
        copy.with_suffix(".json").unlink()

        blocks = [(fields, packed_in(payload)) for fields, payload in blocks_in(first)]
        at = next(i for i, (_, events) in enumerate(blocks) if events)
        fields, events = blocks[at]
        forge(blocks[:at] + [(fields, events[1:])] + blocks[at + 1:])
        told("changed", "its record says")
        forge(blocks[:at] + [(fields, events[:1] + events)] + blocks[at + 1:])
        told("double", "is there twice")
        other = bytearray(events[0])
        other[24 - 4] ^= 1  # its reference time
        forge(blocks[:at] + [(fields, [bytes(other)] + events[1:])] + blocks[at + 1:])
        told("changed", "has other bytes")
        forge(blocks[:-1])
        told("missing", "is not there")
        forge(blocks + blocks[-1:])
        told("double", "was made of no block")
        later = write_file(cut, 77, [block_of(*blocks[at])])
        told("missing", "came after the plan")
        later.unlink()
        later.with_suffix(".json").unlink()
        self.assertTrue(self.check(out)["holds"])
        # What a file says that was changed behind the record's back is done again.
        first.write_bytes(keep[first][:-9])
        self.assertEqual(self.reprocess("--out", out, "--json")["tasks_run"], 1)
        self.assertEqual(first.read_bytes(), keep[first])

    def refuse(self, cut, menu, out):
        self.assertIn("another menu", self.reprocess(cut, "--menu", "built-in", "--out", out, code=USAGE))
        self.assertIn("is the output", self.reprocess(out, "--out", out, code=USAGE))
        self.assertIn("needs STORE and --menu", self.reprocess("--out", self.folder / "none", code=USAGE))
        self.assertIn("no plan", self.reprocess("--out", self.folder / "none", "--check", code=MISSING))
        self.assertIn("not empty", self.reprocess(cut, "--menu", menu, "--out", cut.parent, code=MISSING))
        self.assertIn("there is no task", self.reprocess("--out", out, "--task", "99", code=USAGE))
        self.assertIn("no store", self.reprocess(self.folder, "--menu", menu, "--out", self.folder / "none", code=MISSING))
        self.assertFalse((self.folder / "none").exists())
        (out / "reprocess/menu.toml").write_text(SELECTION.replace("prescale = 3", "prescale = 4"))
        (out / "reprocess/task-000001.json").unlink()
        self.assertIn("what decides is not what the plan", self.reprocess("--out", out, code=BAD_CONFIGURATION))

    def test_runs_damage_and_another_readout(self):
        sent, cut = self.stored_whole(20)
        # Of several runs in a file: the prescales go by the run of the block.
        menu = self.write(SELECTION)
        blocks = [(fields, packed_in(payload)) for f in sorted(cut.glob("*.kl3")) for fields, payload in blocks_in(f)]
        several = self.folder / "several"
        write_file(several, 1, [block_of(fields, events, run=RUN + n % 2) for n, (fields, events) in enumerate(blocks)], "several")
        out = self.folder / "out"
        self.reprocess(several, "--menu", menu, "--out", out)
        name, = (f.name for f in out.glob("blocks-*.kl3"))
        self.assertEqual(name, "blocks-000001-several.kl3")
        kept_of = {run: {(e["spill"], e["event"]) for e in self.select(self.simulate(20, f"{run}.l2raw", run), menu)["events"] if e["kept"]}
                   for run in (RUN, RUN + 1)}
        self.assertNotEqual(kept_of[RUN], kept_of[RUN + 1])
        for given, (fields, made) in zip(blocks, blocks_in(out / name)):
            keys = [store_reader.EVENT_HEADER.unpack_from(e)[1:3] for e in given[1]]
            self.assertEqual((fields[7], fields[9]), (given[0][7], NODE))
            self.assertEqual([store_reader.EVENT_HEADER.unpack_from(e)[1:3] for e in packed_in(made)],
                             [k for k in keys if k in kept_of[fields[8]]])
        self.assertTrue(self.check(out)["holds"])

        # What is damaged is left out, and counted; the rest is done.
        file = sorted(cut.glob("*.kl3"))[1]
        data = bytearray(file.read_bytes())
        lost = blocks_in(file)[0][0][5]
        data[16 + 64 + 200] ^= 1
        file.write_bytes(data + b"torn")
        out = self.folder / "damaged"
        said = self.reprocess(cut, "--menu", menu, "--out", out, "--json", code=FAILED)
        self.assertEqual((said["events"]["in"], said["events"]["unreadable"]), (20, lost))
        self.assertEqual(said["events"]["kept"] + said["events"]["rejected"], 20 - lost)
        self.assertEqual(self.reprocess("--out", out, "--skip-damaged", "--json")["tasks_run"], 0)
        self.assertEqual(self.reprocess("--out", out, "--check", "--skip-damaged", "--json")["holds"], True)

        # The readout is not in a store whose blocks have no settings.
        said = self.reprocess(cut, "--menu", menu, "--out", self.folder / "narrow", "--detector", "built-in", "--crates",
                              "0-10: 16 x 125 MHz", code=BAD_CONFIGURATION)
        self.assertIn("another readout", said)

    def test_another_codec(self):
        sent, cut = self.stored_whole(20)
        stored, strong, back = self.folder / "stored", self.folder / "strong", self.folder / "back"
        self.reprocess(cut, "--menu", "built-in", "--out", stored)
        said = self.reprocess(cut, "--menu", "built-in", "--out", strong, "--codec", "strong", "--json")
        self.assertGreater(said["events"]["kept"], 0)
        codecs = {fields[2] for f in strong.glob("blocks-*.kl3") for fields, _ in blocks_in(f)}
        self.assertEqual(codecs, {2})
        length = lambda out: sum(fields[4] for f in out.glob("blocks-*.kl3") for fields, _ in blocks_in(f))  # noqa: E731
        self.assertLess(length(strong), length(stored))
        self.assertTrue(self.check(strong)["holds"])
        code, verdict = self.verify(sent, "--selection", "built-in", store=strong)
        self.assertEqual((code, verdict["holds"]), (0, True), verdict)
        self.assertEqual(verdict["events"]["equal"], said["events"]["kept"])
        self.assertIn("was begun with the codec strong", self.reprocess("--out", strong, "--codec", "koto", code=USAGE))
        self.assertIn("was begun without --codec", self.reprocess("--out", stored, "--codec", "koto", code=USAGE))
        self.reprocess(strong, "--menu", "built-in", "--out", back, "--codec", "koto")
        self.assertTrue(self.check(back)["holds"])
        self.assertTrue(store_reader.packed_events_of(back) == store_reader.packed_events_of(stored))
        # An event that is not that of the input is found, though its bytes differ in any case.
        file = next(f for f in sorted(strong.glob("blocks-*.kl3")) if any(len(packed_in(p)) for _, p in blocks_in(f)))
        task = int(file.name[7:13])
        blocks = [(fields, packed_in(payload)) for fields, payload in blocks_in(file)]
        at = next(i for i, (_, events) in enumerate(blocks) if events)
        other = bytearray(blocks[at][1][0])
        other[24 - 4] ^= 1  # its reference time
        write_file(strong, task, [block_of(f, [bytes(other)] + e[1:] if i == at else e) for i, (f, e) in enumerate(blocks)])
        record = strong / f"reprocess/task-{task:06}.json"
        account, data = json.loads(record.read_text()), file.read_bytes()
        account["output"].update(bytes=len(data), crc32c=f"{crc32c(data):08x}")
        record.write_text(json.dumps(account))
        verdict = self.check(strong, code=FAILED)
        self.assertTrue(any("has other bytes" in t for t in verdict["changed"]), verdict)

    def test_an_event_that_two_stores_have(self):
        """A node died, or was cut off, when one receiver had its event, and level 2 gave it to a node of the other receiver."""
        sent, cut = self.stored_whole(20)
        kept = {(e["spill"], e["event"]) for e in self.select(sent)["events"] if e["kept"]}
        last = [(fields, packed_in(payload)) for f in sorted(cut.glob("*.kl3"))[1:] for fields, payload in blocks_in(f)]
        again = [store_reader.EVENT_HEADER.unpack_from(e)[1:3] for _, events in last for e in events]
        twice = [key for key in again if key in kept]
        self.assertTrue(twice)
        other, third = self.folder / "other", self.folder / "third"
        write_file(other, 1, [block_of(fields, events, session=0x4242) for fields, events in last])
        write_file(third, 1, [block_of(fields, events, run=RUN + 1, session=0x4343) for fields, events in last])
        out = self.folder / "out"
        self.reprocess(cut, third, "--menu", "built-in", "--out", out)
        self.assertTrue(self.check(out)["holds"], "the same numbers, of another run")
        empty = self.folder / "empty"
        write_file(empty, 1, [block_of(fields, []) for fields, _ in last])
        self.reprocess(empty, "--out", out)
        self.assertTrue(self.check(out)["holds"], "empty blocks in the place of damaged ones")
        self.reprocess(other, "--out", out)
        verdict = self.check(out, code=FAILED)
        self.assertEqual((verdict["holds"], verdict["repeated_events"], verdict["double"]), (False, len(twice), []))
        spill, number = twice[0]
        self.assertRegex(verdict["repeated"][0], f"{len(twice)} of its events are in an output for the second time, first event {number} of spill {spill} of run {RUN}$")
        said = self.reprocess("--out", out, "--check", code=FAILED)
        self.assertIn("NOT right: events that the stores have twice are in the output twice", said)
        self.assertIn("--accept-repeated accepts that", said)
        said = self.reprocess("--out", out, "--check", "--accept-repeated")
        self.assertIn("or was rejected; some are in several inputs", said)
        self.assertIn(f"{len(twice)} events came in more than once", said)

    def test_a_file_of_2_tb_without_data(self):
        store, out = self.folder / "holes", self.folder / "out"
        store.mkdir()
        file = store / "blocks-000001.kl3"
        file.touch()
        os.truncate(file, 1 << 41)
        said = self.reprocess(store, "--menu", "built-in", "--out", out, "--json")
        self.assertEqual((said["events"]["in"], said["bytes"]["in"]), (0, 1 << 41))
        self.assertTrue(self.check(out)["holds"])


    def test_twice_at_the_same_time(self):
        """The slower process finds its file removed, as left over, and the other's in its place."""
        sent, cut = self.stored_whole(20)
        out = self.folder / "out"
        command = ("reprocess", cut, "--menu", "built-in", "--out", out)
        slow = self.start_tool(*command, "--threads", "1")
        harness.wait_until(lambda: list(out.glob("reprocess/task-000001-*.new")) or not slow.running(), "a file that is being written")
        slow.process.send_signal(signal.SIGSTOP)
        self.assertTrue(slow.running())
        self.reprocess(*command[1:])
        slow.process.send_signal(signal.SIGCONT)
        self.assertEqual(slow.wait(), 0, slow.said())
        self.assertTrue(self.check(out)["holds"])
        self.bytes_of(out)


class AnotherReadout(harness.SystemTest):
    """The settings in a store say what was read out. No option, and no default, has other events judged."""

    def stored(self, name, crates):
        """A store of some events of these crates."""
        self.crate_lines, self.crates = crates, level2.readout(crates)
        self.ports, self.store = harness.Ports(), self.folder / name
        receiver, daemon = self.start_receiver(), self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 1)
        for number in range(1, 6):
            sender.event(1, number, maker.fragments(1, number))
        sender.end(1, 5)
        daemon.wait_for_stored(5)
        self.stop_daemon(daemon)
        receiver.stop()
        return self.store

    def refuse(self, text, *arguments, code=BAD_CONFIGURATION):
        its_code, said = self.run_tool(*arguments)
        self.assertEqual(its_code, code, said)
        self.assertIn(text, said)

    def test_is_taken_from_the_store(self):
        out, menu = self.folder / "out", ("--menu", "built-in")
        small, other = self.stored("small", level2.SMALL), self.stored("other", ["0-1: 3 x 125 MHz"])
        for command in (("select", small), ("reprocess", small, *menu, "--out", out)):
            self.refuse("built-in detector.toml: describes another readout", *command)
            self.refuse('--crates is not the readout of the stored runs, "0-1: 3 x 125 MHz", "2: 2 x 500 MHz"', *command, "--crates", *level2.KOTO)
        # Of a store without settings nothing is known.
        old = self.folder / "old"
        whole = harness.store_file(small)
        write_file(old, 1, [block_of(fields, packed_in(payload)) for fields, payload in blocks_in(whole)], "run000007-node3")
        self.assertEqual(self.run_tool("select", old, "--totals")[0], 0)
        self.assertEqual(self.run_tool("reprocess", old, *menu, "--out", out)[0], 0)
        # Files that came since, and stores that are named later.
        self.refuse("the readout of the stored runs is", "reprocess", small, "--out", out, code=USAGE)
        shutil.copy(whole, old / whole.name.replace("000001", "000002"))
        self.refuse('-node3.kl3: its readout is "0-1: 3 x 125 MHz", "2: 2 x 500 MHz", and', "reprocess", "--out", out)
        # Files of two readouts.
        shutil.copy(harness.store_file(other), small / harness.store_file(other).name.replace("000001", "000002"))
        for command in (("select", small), ("reprocess", small, *menu, "--out", self.folder / "mixed")):
            self.refuse("put the files of each into a folder of their own", *command)
        self.assertFalse((self.folder / "mixed").exists())


FAKE_SBATCH = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done >"{folder}/job-$(ls "{folder}" | grep -c ^job-)"
[ ! -e "{folder}/refuse" ] || {{ echo "sbatch: error: invalid partition"; exit 1; }}
echo "$((70 + $(ls "{folder}" | grep -c ^job-)));cluster"
"""


class GivenToSlurm(Reprocessing):
    """What is submitted, by an sbatch that only writes down what it is given. tests/slurm has a real one."""
    MANY, LIMIT = 1003, 1000  # files; tasks of an array

    def setUp(self):
        super().setUp()
        self.jobs = self.folder / "jobs"
        self.jobs.mkdir()
        (self.jobs / "sbatch").write_text(FAKE_SBATCH.format(folder=self.jobs))
        (self.jobs / "sbatch").chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{self.jobs}:{before}"
        self.addCleanup(os.environ.update, PATH=before)
        self.script, self.out = DEPLOY / "koto-l3-reprocess.sbatch", self.folder / "out"

    def submit(self, *more, code=0):
        """What it said, and the words that sbatch was given, job by job."""
        for file in self.jobs.glob("job-*"):
            file.unlink()
        said = self.reprocess(*more, "--out", self.out, "--slurm", "--script", self.script, "--json", code=code)
        return said, [(self.jobs / f"job-{n}").read_text().splitlines() for n in range(len(list(self.jobs.glob("job-*"))))]

    def run_place(self, words, place):
        """As Slurm runs one place of an array: the script, with what stands behind it."""
        at = words.index(str(self.script.resolve()))
        done = subprocess.run(["sh", *words[at:]], env={**os.environ, "SLURM_ARRAY_TASK_ID": str(place)}, capture_output=True, text=True,
                              timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_arrays_of_a_thousand_and_what_is_left(self):
        many = self.folder / "many"
        for n in range(self.MANY):
            write_file(many, n + 1, [])
        said, jobs = self.submit(many, "--menu", "built-in", "--sbatch-option=--partition=long", "--threads", "1")
        self.assertEqual((said["tasks"], said["jobs"]), (self.MANY, ["71", "72", "73"]))
        first, second, check = jobs
        for words in jobs:
            self.assertIn("--parsable", words)
            self.assertLess(words.index("--partition=long"), words.index(str(self.script.resolve())))
        self.assertIn("--array=1-1000", first)
        self.assertIn("--array=1-3", second)
        self.assertIn("--dependency=afterany:71:72", check)
        self.assertEqual(check[check.index(str(self.script.resolve())) + 1], "check")
        self.run_place(first, 7)
        self.run_place(second, 2)
        done = {int(f.name[5:11]) for f in self.out.glob("reprocess/task-*.json")}
        self.assertEqual(done, {7, 1002})
        lacks = self.MANY - 2
        told = self.reprocess("--out", self.out, "--check", code=FAILED)
        self.assertEqual(len([line for line in told.splitlines() if line.startswith("missing: ") and line.endswith(" is not done")]), 40)
        self.assertIn(f"missing: … and {lacks - 40} more\n", told)
        self.assertEqual(len(self.check(self.out, code=FAILED)["missing"]), lacks)
        said, jobs = self.submit()
        self.assertEqual(said["tasks"], self.MANY - 2)
        self.assertIn("--array=1-6,8-1000", jobs[0])
        self.assertIn("--array=1,3", jobs[1])

    def test_an_sbatch_that_refuses_and_none(self):
        few = self.folder / "few"
        write_file(few, 1, [])
        (self.jobs / "refuse").touch()
        said, _ = self.submit(few, "--menu", "built-in", code=FAILED)
        self.assertIn("sbatch ends with 1: sbatch: error: invalid partition", said)
        (self.jobs / "refuse").unlink()
        (self.jobs / "sbatch").chmod(0o644)
        if not shutil.which("sbatch"):
            said, jobs = self.submit(code=MISSING)
            self.assertIn("there is no sbatch in PATH", said)
            self.assertEqual(jobs, [])
        self.script = self.folder / "none.sbatch"
        self.assertIn("name it by --script", self.submit(code=MISSING)[0])
        self.script = DEPLOY / "koto-l3-reprocess.sbatch"
        (self.jobs / "sbatch").chmod(0o755)
        self.reprocess("--out", self.out)
        said, jobs = self.submit()
        self.assertEqual((said["tasks"], len(jobs)), (0, 1))
        self.assertFalse(any(w.startswith("--dependency") for w in jobs[0]), "the check of what is done waits for nothing")


if __name__ == "__main__":
    harness.main()
