#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with the files that say how to select, or with those that are judged, is told with its place."""
import pathlib
import subprocess

import harness
import l2raw
import level2
import store_reader
from selection_stage import BAD_CONFIGURATION, DETECTOR, FAILED, MISSING, RUN, SELECTION, Selecting


def edited(text, old, new):
    if text.count(old) < 1:
        raise ValueError(f"no {old!r} to change")
    return text.replace(old, new, 1)


class BadFiles(Selecting):
    """Each mistake is told before anything runs, by the daemon and by the tool alike: where it is, and what to do."""

    def setUp(self):
        super().setUp()
        self.file = self.folder / "empty.l2raw"
        l2raw.write(self.file, self.crates, {}, run=RUN)

    def check(self, what, path, place, texts, tool_code=BAD_CONFIGURATION):
        """`what` is a key of [selection]; both programs refuse the file with the same message."""
        keys = {"lines": "built-in", **{what: str(path)}}
        config = self.write_config("bad.toml", selection=keys)
        option = {"lines": "--selection", "detector": "--detector", "calibration": "--calibration"}[what]
        for arguments, code in (([harness.BIN / "koto-l3d", "--config", config, "--check-config"], BAD_CONFIGURATION),
                                ([harness.BIN / "koto-l3", "select", self.file, option, path], tool_code)):
            p = subprocess.run(arguments, capture_output=True, text=True, timeout=harness.PATIENCE)
            self.assertEqual((p.returncode, p.stdout), (code, ""), p.stderr)
            for text in [place, *texts]:
                self.assertIn(text, p.stderr)
            self.assertLess(len(p.stderr), 1200)

    def test_no_detector_file_means_the_built_in_one(self):
        config = self.write_config("empty.toml", selection={"lines": "built-in", "detector": ""})
        p = subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual((p.returncode, p.stderr), (0, ""), p.stderr)

    def check_selection(self, old, new, *texts, place=None):
        """An edit of a selection that is good, refused where the new text, or `place` in it, stands."""
        text = edited(SELECTION, old, new)
        at = text.index(place or new)
        where = f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}: "
        self.check("lines", self.write(text), "selection.toml" + where, texts)

    def test_a_good_selection_is_taken(self):
        config = self.write_config(selection={"lines": str(self.write(SELECTION))})
        p = subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(self.select(self.file, self.folder / "selection.toml")["events"], [])

    def test_names_that_are_none(self):
        self.check_selection('"BHGC"', '"BHGX"', 'no counter "BHGX"; did you mean BHGC?')
        self.check_selection('["CBAR"]', '["CBAR", "NOPE"]', 'no counter "NOPE"; there are NCC single, ', place='"NOPE"')
        self.check_selection("photon_inner =", "photon_inn =", "line.photon_inn is not a key; did you mean photon_inner?")
        self.check_selection('["two_clusters"]', '["two_cluster"]', 'no trigger bit is called "two_cluster"; did you mean two_clusters?',
                             place='"two_cluster"')
        self.check_selection("[clusters]", "[cluster]", "cluster is not a key; did you mean clusters?", place="cluster]")

    def test_sequences_that_cannot_run(self):
        self.check_selection('"match_ends"', '"match_endz"', "no algorithm `match_endz`; there are: measure_pulses, ")
        self.check_selection('"match_ends", ', "", "`judge_vetoes` reads `hits`", "`match_ends` does", place='"judge_vetoes"')
        self.check_selection('"decide"', '"decide", "decide"', "`decide` stands there twice; leave one", place='"decide"]')
        self.check_selection(', "decide"', "", "nothing decides which events are kept; end it with `decide`", place='"judge_vetoes"')
        self.check_selection('"measure_pulses", ', '"measure_pulses", "measure_pulses", ', "a second time", place='"measure_pulses", "find')
        for none in ("[] must name at least one algorithm", '"decide" is not a list'):
            text = edited(SELECTION, SELECTION[SELECTION.index("["):SELECTION.index("\n[clusters]")], none.split()[0])
            self.check("lines", self.write(text), "selection.toml:2:12: ", ["sequence = " + none])

    def test_lines_that_cannot_be(self):
        self.check_selection("870.0", "100.0", 'line "first" can never fire: photon_inner is never above photon_radius',
                             "change one of the two ranges", place="[135.0")
        self.check_selection("photons = 2", "photons = [3, 2]", "line.photons = [3, 2] can never be met: it must rise", place="[3, 2]")
        self.check_selection("photons = 2", "photons = 3\nvertex_z = [0.0, 1.0]", "events with so many photons have no vertex_z",
                             "take it out or change photons", place="[0.0, 1.0]")
        self.check_selection('"second"', '"first"', 'there is a line "first" already; give each a name of its own',
                             place='"first"\nprescale')
        self.check_selection("prescale = 3", "prescale = 0.5", "line.prescale = 0.5 is not an integer", place="0.5")
        self.check_selection('"second"', '"sec ond"', "letters, digits and _ only")
        self.check("lines", self.write("# nothing\n"), "selection.toml: ", ["there is no line", "add a [[line]]"])
        self.check("lines", self.write(""), "selection.toml: ", ["there is no line", "add a [[line]]"])

    def test_thresholds_out_of_range(self):
        self.check_selection("3.0", "-3.0", "crystal_threshold = -3.0 is not above 0")
        self.check_selection("3.0", "50000.0", "above what the digitizer can give", "lower it")
        self.check_selection("9.0", "1e6", "BHGC", "above what the digitizer can give", "lower it")
        self.check_selection("3.0", '"high"', 'crystal_threshold = "high" is not a number')

    def test_all_mistakes_are_told_at_once(self):
        text = edited(edited(SELECTION, "photons = 2", "photons = [3, 2]"), "prescale = 3", "prescale = -1")
        self.check("lines", self.write(text), "line.photons = [3, 2] can never be met", ["line.prescale = -1 is out of range 1..1000000000"])

    def test_calibrations(self):
        header = "input,gain,time,threshold,dead\n"
        for row, text in (("0/99/0,0.1,,,", "the readout has no input 0/99/0; correct it or leave it out"),
                          ("10/18/15,0.1,,,", "carries nothing; correct it or leave it out"),
                          ("crystal 3,0.1,,,", '"crystal 3" is no input; write crate/slot/channel'),
                          ("0/3/7,-1,,,", "gain -1 is out of range 0..10"),
                          ("0/3/7,,,,2", "dead 2 is out of range 0..1"),
                          ("0/3/7,0.1", "a line has 5 fields, this one 2; leave a field empty")):
            with self.subTest(row):
                self.check("calibration", self.write(header + "0/3/8,0.08,,,\n" + row + "\n", "c.csv"), "c.csv:3:", [text])
        twice = self.write(header + "0/3/7,0.1,,,\n0/3/7,0.1,,,\n", "c.csv")
        self.check("calibration", twice, "c.csv:3:1: ", ["input 0/3/7 has line 2 already; leave one"])
        self.check("calibration", self.write("0/3/7,0.1,,,\n", "c.csv"), "c.csv:1:1: ", ["begin with its header; write input,gain"])
        runs = self.write("runs," + header + "8-,0/3/7,0.1,,,\n-9,0/3/8,0.1,,,\n", "c.csv")
        self.check("calibration", runs, "c.csv:3:1: ", ['"-9" is no range of runs; write one such as 100-199'])
        runs = self.write("runs," + header + "8-,0/3/7,0.1,,,\n", "c.csv")
        self.check("calibration", runs, "c.csv: ", ["the table is of the runs 8-, and this is run 7; add lines for it"])
        runs = self.write("runs," + header + "8-,0/3/7,0.1,,,\n1-7,0/3/8,,nan,,\n", "c.csv")
        self.check("calibration", runs, "c.csv:3:12: ", ['time "nan" is not a number'])
        runs = self.write("runs," + header + "8-,0/3/7,0.1,,,\n1-7,0/3/8,,1.0,,\n", "c.csv")
        self.check("calibration", runs, "c.csv:2:4: ", ["input 0/3/7 has lines for the runs 8- and none for run 7; add one"])

    def test_settings_that_no_store_has_room_for(self):
        menu = self.write(SELECTION + "# " + "a" * ((1 << 20) - len(SELECTION) - 100) + "\n", "long.toml")
        self.check("lines", menu, "long.toml: ", ["bytes together; every store holds them, and has room for 1048576; make them shorter"])

    def test_cable_maps(self):
        p = subprocess.run([harness.BIN / "koto-l3", "cables"], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        table = p.stdout.splitlines(keepends=True)
        self.assertEqual(len(table), 1 + 2716 + 892 + 152)
        description = self.write('cables = "maps/cables.csv"\n' + DETECTOR, "d.toml")
        (self.folder / "maps").mkdir()
        self.check("detector", description, "d.toml:1:10: ", ["cables.csv: cannot be read: No such file or directory"])
        self.write("".join(table), "maps/cables.csv")
        file = self.simulate(6)
        by_map = self.select(file, "built-in", "--detector", description)
        self.assertEqual(by_map, self.select(file))
        self.assertEqual(self.run_tool("cables", "--detector", description), (0, "".join(table)))
        at = next(n for n, line in enumerate(table, 1) if ",CBAR,3,1" in line)
        one = table[at - 1]
        for changed, place, text in ((one.replace("CBAR", "CBRA"), f"cables.csv:{at}:", 'no part of the detector is called "CBRA"; did you mean CBAR?'),
                                     (one.replace(",3,1", ",3,0"), f"cables.csv:{at}:", "CBAR module 3 end 0 has input "),
                                     ("", "cables.csv: ", "CBAR module 3 end 1 has no input; add a line for it"),
                                     (one + one, f"cables.csv:{at + 1}:1: ", f"stands in line {at} already; each has one line")):
            with self.subTest(text):
                self.write("".join(table[:at - 1]) + changed + "".join(table[at:]), "maps/cables.csv")
                self.check("detector", description, place, [text])

    def check_detector(self, old, new, *texts, at=None):
        text = edited(DETECTOR, old, new)
        lines = [n for n, line in enumerate(text.splitlines(), 1) if (at or new) in line]
        self.check("detector", self.write(text, "d.toml"), f"d.toml:{lines[0]}:", texts)

    def test_detectors(self):
        self.check_detector('"11/12/0"', '"11/3/5"', "input 11/3/5 of NCC common module 0 already carries NCC single module 5")
        self.check_detector('"11/12/0"', '"11/40/0"', "the readout has no input 11/40/0")
        self.check_detector("dead = []", 'dead = ["0/3/7", "99/3/7"]', "the readout has no input 99/3/7")
        self.check_detector("threshold = 1.0", "treshold = 1.0", "veto.treshold is not a key; did you mean threshold?")
        no_vetoes = DETECTOR[:DETECTOR.index("[[veto]]")]
        for size in ("small_columns = 48", "large_radius = 918.0"):
            no_vetoes = edited(no_vetoes, size, size.split("=")[0] + "= " + ("8" if "col" in size else "10.0"))
        self.check("detector", self.write(no_vetoes, "d.toml"), "d.toml: ",
                   ["the detector has no channels; describe a calorimeter or vetoes"])
        self.check("detector", self.write("", "d.toml"), "d.toml: ", ["calorimeter is missing", "signals is missing"])

    def test_files_that_cannot_be_read(self):
        for what in ("lines", "detector", "calibration"):
            with self.subTest(what):
                self.check(what, self.folder / "none", str(self.folder / "none"), ["No such file or directory"], MISSING)
                self.check(what, self.folder, str(self.folder), ["Is a directory"], MISSING)
                self.check(what, "/dev/zero", "/dev/zero", ["is a device, not a regular file"])
        for what in ("lines", "detector"):
            self.check(what, self.write("this is = = no toml", "junk"), "junk:1:", [])
            (self.folder / "bytes").write_bytes(bytes(range(256)))
            self.check(what, self.folder / "bytes", "bytes:1:", [])
        (self.folder / "bytes").write_bytes(bytes(range(256)))
        self.check("calibration", self.folder / "bytes", "bytes:1:1: ", ["begin with its header"])

    def test_a_readout_that_is_not_the_detector_s(self):
        other = self.folder / "other.l2raw"
        l2raw.write(other, level2.readout(level2.SMALL), {}, run=RUN)
        code, said = self.run_tool("select", other)
        self.assertEqual(code, BAD_CONFIGURATION, said)
        self.assertIn("describes another readout", said)
        self.assertIn("name a detector file that describes what hangs on this one", said)
        code, said = self.run_tool("select", other, "--detector", self.write(DETECTOR, "d.toml"))
        self.assertEqual(code, BAD_CONFIGURATION, said)
        self.assertRegex(said, r"d\.toml:\d+:9: 2716 inputs from 0/3/0 on do not fit")


class Files(Selecting):
    """What `select` and `evaluate` say of the data they are given."""

    def says(self, code, text, *arguments):
        p = subprocess.run([harness.BIN / "koto-l3", *arguments], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stderr)
        self.assertIn(text, p.stderr)
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)

    def test_events_and_truth_that_are_wrong(self):
        file = self.simulate(12)
        truth = pathlib.Path(f"{file}.truth.jsonl")
        lines = truth.read_text().splitlines(keepends=True)
        for name, text, message in (("shorter", lines[:-1], "is not the truth of"),
                                    ("swapped", lines[1:2] + lines[:1] + lines[2:], "is not the truth of"),
                                    ("cut", [*lines[:5], lines[5][:40]], "cut:6: is no line of truth")):
            self.says(FAILED, message, "evaluate", file, "--truth", self.write("".join(text), name))
        truth.unlink()
        self.says(MISSING, f"cannot read {truth}", "evaluate", file)
        data = file.read_bytes()
        (self.folder / "cut.l2raw").write_bytes(data[:len(data) // 2])
        self.says(FAILED, "ends within a record, at offset ", "select", self.folder / "cut.l2raw", "--totals")
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        (self.folder / "flipped.l2raw").write_bytes(flipped)
        self.says(FAILED, "stream_checksum", "select", self.folder / "flipped.l2raw", "--totals")

    def test_files_of_another_kind(self):
        junk = self.write("junk", "junk.l2raw")
        self.write("", "junk.l2raw.truth.jsonl")
        self.store.mkdir()
        (self.store / "blocks-000001.kl3").write_bytes(store_reader.FILE_HEADER.pack(b"KL3S", 2, bytes(3), 1))
        for arguments in (["select", junk], ["evaluate", junk], ["verify", junk, self.store, "--selection", "built-in"]):
            self.says(FAILED, f"{junk} is not an .l2raw file", *arguments)
            self.says(MISSING, f"cannot read {self.folder / 'none'}", *(self.folder / "none" if a == junk else a for a in arguments))


if __name__ == "__main__":
    harness.main()
