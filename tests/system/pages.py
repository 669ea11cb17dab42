#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages are true: docs/adding-a-line.md and docs/robustness.md are followed word for word. Their files are written, their commands run, and what
these say is compared with what the page shows; `…` on a page stands for anything, within a line or for whole lines. What the selection was
to reach is checked on top, so that no page can be brought up to date with something bad. `--update` writes the output of `evaluate` into
docs/robustness.md anew. And docs/images/make.py makes every picture."""
import json
import re
import subprocess
import sys
import tempfile

import browser
import harness
import level2

ROOT = harness.HERE.parents[1]
ADDING, ROBUSTNESS = ROOT / "docs" / "adding-a-line.md", ROOT / "docs" / "robustness.md"
BAD_CONFIGURATION = 78


def blocks_of(page):
    """(language, name, text) of each block of code, in order."""
    return re.findall(r"^```(\w+) ?([\w.]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands_of(block):
    """(command, the lines that the page shows of its output) for each `$ command`."""
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1].splitlines()) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def is_shown(shown, said):
    """Whether a line of output is what the page shows."""
    return re.fullmatch(r"\s+".join(re.escape(word).replace("…", ".*") for word in shown.split()), said.strip()) is not None


def not_shown(shown, said):
    """The first line of the page that the output does not have in its place; None if all is as shown."""
    rest, skipping = list(said), False
    for line in shown:
        if line == "…":
            skipping = True
            continue
        while skipping and rest and not is_shown(line, rest[0]):
            rest.pop(0)
        if not rest or not is_shown(line, rest.pop(0)):
            return line
        skipping = False
    return None if skipping or not rest else f"an end before: {rest[0]}"


def shell(command, folder):
    """(exit code, lines that it wrote)"""
    p = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=2 * harness.PATIENCE,
                       env={**harness.os.environ, "PATH": f"{harness.BIN}:{harness.os.environ['PATH']}"})
    return p.returncode, (p.stdout + p.stderr).splitlines()


class AddingALine(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)
    chunk_bytes = 8000

    def start(self):
        """The receiver and the daemon that the page speaks of."""
        self.start_receiver()
        self.daemon = self.start_daemon(run={"number": 1}, frames={"count": 16, "events": 8},  # prescales depend on the run of `simulate`
                                        selection={"lines": str(self.folder / "mine.toml")})

    def run_command(self, command):
        if found := re.fullmatch(r"curl -s http://127\.0\.0\.1:9420/metrics \| grep (\w+)", command):
            self.daemon.wait_for(lambda s: s["events"]["forwarded"] + s["events"]["rejected"] >= 500 and not s["events"]["in_flight"],
                                 "500 events forwarded or rejected")
            return 0, [line for line in self.daemon.get("/metrics")[1].splitlines() if found[1] in line]
        if command.startswith("koto-l3 verify"):  # the receiver writes its ledger a second after the last block
            stored, ledger = self.daemon.status()["events"]["forwarded"], self.store / "ledger.json"
            harness.wait_until(lambda: ledger.exists() and json.loads(ledger.read_text())["events"]["forwarded"] == stored, "the receiver's ledger")
        return shell(command.replace("127.0.0.1:42100", f"{harness.HOST}:{self.ports.tcp}"), self.folder)

    def test_the_page(self):
        (self.folder / "deploy").symlink_to(ROOT / "deploy")
        commands = 0
        for language, name, text in blocks_of(ADDING.read_text()):
            if language == "toml":
                with open(self.folder / name, "a", encoding="utf-8") as file:
                    file.write(text)
                continue
            if name == "daemon":
                self.start()
            for command, shown in commands_of(text):
                code, said = self.run_command(command)
                commands += 1
                refused = name == "refused" and command.startswith("koto-l3d")
                self.assertEqual(code, BAD_CONFIGURATION if refused else 0, f"{command}: {said}")
                missing = not_shown(shown, said)
                self.assertIsNone(missing, f"{command} does not say: {missing}\n" + "\n".join(said))
        self.assertEqual(commands, 12)
        self.stop_daemon(self.daemon)


class Robustness(harness.SystemTest):
    def test_the_page(self):
        evaluated = {}
        for _, _, text in blocks_of(ROBUSTNESS.read_text()):
            for command, shown in commands_of(text):
                code, said = shell(command, self.folder)
                self.assertEqual(code, 0, said)
                if " evaluate " in command:
                    missing = not_shown(shown, said)
                    self.assertIsNone(missing, f"{command} does not say: {missing}\n" + "\n".join(said))
                    evaluated[command.split()[2]] = "\n".join(said)
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

    def test_a_truth_of_other_events_is_refused(self):
        for name, seed in (("one", "1"), ("other", "2")):
            self.assertEqual(shell(f"koto-l3 simulate {name}.l2raw --events 20 --seed {seed}", self.folder)[0], 0)
        right = (self.folder / "one.l2raw.truth.jsonl").read_text()
        for text, message in (((self.folder / "other.l2raw.truth.jsonl").read_text(), "has another time in the spill or other trigger bits there"),
                              ("".join(right.splitlines(keepends=True)[:-1]), "is not the truth of one.l2raw"),
                              (right[:-40], "wrong.jsonl:20: is not a line of truth")):
            with self.subTest(message):
                (self.folder / "wrong.jsonl").write_text(text)
                code, said = shell("koto-l3 evaluate one.l2raw --truth wrong.jsonl", self.folder)
                self.assertEqual(code, 1, said)
                self.assertIn(message, said[-1])


class Pictures(browser.InABrowser):
    def test_all_are_made(self):
        out = self.folder / "made"
        out.mkdir()
        code, said = shell(f"{sys.executable} -B {ROOT}/docs/images/make.py --short --out {out}", self.folder)
        self.assertEqual(code, 0, said)
        made = {path.name: path.read_bytes() for path in out.iterdir()}
        self.assertEqual(made.keys(), {"page.png", "page-dark.png", "event.png", "event-dark.png",
                                       "packing.svg", "kernels.svg", "threads.svg", "frames.svg", "efficiency.svg", "way.svg"})
        for name in ("packing", "kernels", "threads", "frames", "efficiency"):
            self.assertRegex(made[f"{name}.svg"].decode(), rf"\./run pictures {name}<[\s\S]*; \d{{4}}-\d\d-\d\d<")


def update():
    def anew(command, shown):
        said = shell(command, folder)[1] if command.startswith("koto-l3") else shown
        return said[:len(shown) - 1] + ["…"] if shown[-1:] == ["…"] else said if " evaluate " in command else shown
    with tempfile.TemporaryDirectory() as folder:
        ROBUSTNESS.write_text(re.sub(r"(?ms)^(```sh\n)(.*?)^(```)$", lambda m: m[1] + "".join(
            "\n".join([f"$ {command}", *anew(command, shown), ""]) for command, shown in commands_of(m[2])) + m[3], ROBUSTNESS.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        harness.main()
