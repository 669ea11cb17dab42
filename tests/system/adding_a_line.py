#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/adding-a-line.md, followed word for word: its files are written, its commands run, and what they say is compared with what the
page shows. `…` on the page stands for anything, within a line or for whole lines. Numbers that depend on cuts may drift a little, so
that not every change of a cut needs a new page; words may not."""
import json
import re
import subprocess

import harness
import level2

PAGE = harness.HERE.parents[1] / "docs" / "adding-a-line.md"
BAD_CONFIGURATION = 78
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")


def blocks_of(page):
    """(language, name, text) of each block of code, in order."""
    return re.findall(r"^```(\w+) ?([\w.]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands_of(block):
    """(command, what the page shows of its output) for each `$ command`."""
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1].splitlines()) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def near(shown, said):
    """None stays none."""
    if float(shown) == 0:
        return float(said) == 0
    return abs(float(shown) - float(said)) <= max(5, 0.25 * float(shown))


def is_shown(shown, said):
    """Whether a line of output is what the page shows: the same words, numbers that are near."""
    pattern, at, numbers = "", 0, []
    for found in re.finditer(r"…|\s+|" + NUMBER.pattern, shown):
        pattern += re.escape(shown[at:found.start()])
        at = found.end()
        if found[0] == "…":
            pattern += ".*"
        elif found[0].isspace():
            pattern += r"\s+" if found.start() else r"\s*"
        else:
            pattern += r"(\d+(?:\.\d+)?)"
            numbers.append(found[0])
    match = re.fullmatch(pattern + re.escape(shown[at:]), said)
    return match is not None and all(near(a, b) for a, b in zip(numbers, match.groups()))


def not_shown(shown, said):
    """The first line of the page that the output does not have in its place; None if all is as shown."""
    rest = list(said)
    skipping = False
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


class AddingALine(harness.SystemTest):
    crate_lines = level2.KOTO
    crates = level2.readout(level2.KOTO)
    chunk_bytes = 8000
    run_number = 1  # of `simulate`: prescales depend on it

    def shell(self, command):
        """(exit code, lines that it wrote)"""
        command = command.replace("127.0.0.1:42100", f"{harness.HOST}:{self.ports.tcp}")
        p = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=harness.PATIENCE,
                           env={**harness.os.environ, "PATH": f"{harness.BIN}:{harness.os.environ['PATH']}"})
        return p.returncode, (p.stdout + p.stderr).splitlines()

    def start(self):
        """The receiver and the daemon that the page speaks of."""
        self.start_receiver()
        self.daemon = self.start_daemon(run={"number": self.run_number}, frames={"count": 16, "events": 8},
                                        selection={"lines": str(self.folder / "mine.toml")})

    def metrics_with(self, word):
        self.daemon.wait_for(lambda s: s["events"]["forwarded"] + s["events"]["rejected"] >= 500 and not s["events"]["in_flight"],
                             "500 events forwarded or rejected")
        return 0, [line for line in self.daemon.get("/metrics")[1].splitlines() if word in line]

    def run_command(self, command):
        if found := re.fullmatch(r"curl -s http://127\.0\.0\.1:9420/metrics \| grep (\w+)", command):
            return self.metrics_with(found[1])
        if command.startswith("koto-l3 verify"): # the receiver writes its ledger a second after the last block
            stored = self.daemon.status()["events"]["forwarded"]
            ledger = self.store / "ledger.json"
            harness.wait_until(lambda: ledger.exists() and json.loads(ledger.read_text())["events"]["forwarded"] == stored, "the receiver's ledger")
        return self.shell(command)

    def test_the_page(self):
        if not PAGE.exists():
            self.skipTest(f"the page is not here: {PAGE}")
        (self.folder / "deploy").symlink_to(PAGE.parents[1] / "deploy")
        commands = 0
        for language, name, text in blocks_of(PAGE.read_text()):
            if language == "toml":
                with open(self.folder / name, "a", encoding="utf-8") as file:
                    file.write(text)
                continue
            self.assertEqual(language, "sh")
            if name == "daemon":
                self.start()
            for command, shown in commands_of(text):
                code, said = self.run_command(command)
                commands += 1
                refused = name == "refused" and command.startswith("koto-l3d")
                self.assertEqual(code, BAD_CONFIGURATION if refused else 0, f"{command}: {said}")
                missing = not_shown(shown, said)
                self.assertIsNone(missing, f"{command} does not say: {missing}\n" + "\n".join(said))
                if refused:
                    self.assert_place(said[-1])
        self.assertEqual(commands, 12)
        self.stop_daemon(self.daemon)

    def assert_place(self, message):
        """It names the line and column where the mistake is."""
        file, line, column = re.search(r"(\w+\.toml):(\d+):(\d+): ", message).groups()
        there = (self.folder / file).read_text().splitlines()[int(line) - 1]
        self.assertEqual(there[:int(column) - 1], "vertex_z = ")


if __name__ == "__main__":
    harness.main()
