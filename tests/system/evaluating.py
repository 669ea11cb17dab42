#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/robustness.md says how good the selection is: its commands are run, and their tables compared with the page, number by number.
What was aimed at is checked on top, so that the page cannot be brought up to date with something bad. `--update` writes the page anew."""
import json
import re
import subprocess
import sys

import harness

PAGE = harness.HERE.parents[1] / "docs" / "robustness.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def parts_of(block):
    """(arguments of koto-l3, what the page shows) for each command."""
    return [(part.split("\n", 1)[0].split()[1:], part.split("\n", 1)[1]) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def run(arguments, folder):
    return subprocess.run([harness.BIN / "koto-l3", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=120).stdout


def as_shown(said, shown):
    """As much of the output as the page shows: with `…` at its end, only the lines before."""
    return "\n".join([*said.split("\n")[:shown.count("\n") - 1], "…", ""]) if shown.endswith("…\n") else said


class Evaluating(harness.SystemTest):
    def test_the_page_is_true(self):
        evaluated = {}
        for block in BLOCK.findall(PAGE.read_text()):
            for arguments, shown in parts_of(block):
                said = run(arguments, self.folder)
                if arguments[0] == "evaluate":
                    self.assertEqual(as_shown(said, shown).rstrip("\n"), shown.rstrip("\n"))
                    evaluated[arguments[1]] = said
        self.check_aims(evaluated["mix.l2raw"], evaluated["signal.l2raw"])

    def check_aims(self, mix, signal):
        def numbers(line, said):
            return [float(n) for n in re.search(line, said, re.MULTILINE).groups()]
        kept, = numbers(r"^kept: ([\d.]+) ", mix)
        self.assertTrue(10 <= kept <= 20, kept)
        some, of = numbers(r"^calibration kept: .*, (\d+) of (\d+)$", mix)
        self.assertEqual(some, of)
        self.assertGreater(of, 50)
        self.assertGreaterEqual(numbers(r"^bytes of events over bytes that are kept, packed: ([\d.]+)$", mix)[0], 20)
        kept, of = numbers(r"^signal that passes the offline cuts on truth, kept by pi0nunu: ([\d.]+) .* of (\d+)$", signal)
        self.assertGreaterEqual(kept, 99)
        self.assertGreater(of, 300)
        energy, x, y = numbers(r"^400-600 .* ([\d.]+) \( [\d.]+ \*\) +([\d.]+) +([\d.]+) +[\d.]+$", signal)  # around 500 MeV
        self.assertLess(energy, 2)  # %
        self.assertLess(max(x, y), 5)  # mm

    def test_two_selections_are_compared(self):
        run(["simulate", "few.l2raw", "--events", "60", "--seed", "3"], self.folder)
        strict = self.folder / "strict.toml"
        strict.write_text('[[line]]\nname = "calibration"\ntrigger = ["led", "laser", "cosmic", "clock"]\n')
        said = run(["evaluate", "few.l2raw", "--selection", "built-in", "--selection", "strict.toml"], self.folder)
        kept = [int(n) for n in re.findall(r"^kept: .*%, (\d+) of 60$", said, re.MULTILINE)]
        self.assertEqual(len(kept), 2)
        self.assertLess(kept[1], kept[0])
        self.assertIn(f"strict.toml keeps 0 events that built-in rejects, and rejects {kept[0] - kept[1]} events that built-in keeps", said)

    def test_a_truth_of_other_events_is_refused(self):
        """Of another seed, whose events have other times; of another mixture, whose events have other triggers; shortened, swapped, cut."""
        for name, seed in (("one", "1"), ("other", "2")):
            run(["simulate", f"{name}.l2raw", "--events", "20", "--seed", seed], self.folder)
        right = (self.folder / "one.l2raw.truth.jsonl").read_text()
        lines, bits = right.splitlines(keepends=True), json.loads(right.splitlines()[0])["trigger_bits"]
        differs = "is not the truth of one.l2raw: spill 1 event 1 has another time in the spill or other trigger bits there"
        for text, message in (((self.folder / "other.l2raw.truth.jsonl").read_text(), differs),
                              (right.replace(f'"trigger_bits":{bits}', '"trigger_bits":77', 1), differs),
                              ("".join(lines[:-1]), "is not the truth of one.l2raw"),
                              ("".join(lines[1::-1] + lines[2:]), "is not the truth of one.l2raw"),
                              ("".join([*lines[:5], lines[5][:40]]), "wrong.jsonl:6: is not a line of truth")):
            with self.subTest(message):
                (self.folder / "wrong.jsonl").write_text(text)
                self.refuses(1, message, "evaluate", "one.l2raw", "--truth", "wrong.jsonl")
        self.refuses(2, "built-in has no line pi0nun", "evaluate", "one.l2raw", "--signal-line", "pi0nun")

    def refuses(self, code, message, *arguments):
        done = subprocess.run([harness.BIN / "koto-l3", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)


def update(folder):
    def anew(match):
        return "```sh\n" + "".join(f"$ koto-l3 {' '.join(arguments)}\n" + (as_shown(run(arguments, folder), shown) if arguments[0] == "evaluate" else run(arguments, folder) and "")
                                   for arguments, shown in parts_of(match[1])) + "```"
    PAGE.write_text(BLOCK.sub(anew, PAGE.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            update(folder)
    else:
        harness.main()
