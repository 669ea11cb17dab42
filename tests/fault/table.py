# SPDX-License-Identifier: Apache-2.0
"""A row of the table of faults, what it found, and how the table is printed."""
import contextlib
import multiprocessing
import random
import time
from typing import Callable, NamedTuple

import scenario
from chain import Skipped


class Row(NamedTuple):
    name: str
    promise: str
    bar: str
    parts: Callable  # (plan): scenarios, and functions (findings, plan) where there is no load
    long: bool = False  # it is not part of ./run test
    group: str = ""  # groups of rows are played beside each other

    def run(self, findings, plan):
        """The reason if nothing of it can be done here."""
        parts = list(self.parts(plan))
        for part in parts:
            try:
                part(findings, plan) if callable(part) else scenario.play(part, findings, plan)
            except Skipped as e:
                findings.not_done.append(str(e))
            except Exception as e:  # a part that breaks must not hide the others
                findings.check(False, f"{getattr(part, 'name', '')}: {type(e).__name__}: {e}")
        return "; ".join(findings.not_done) if len(findings.not_done) == len(parts) else None


class Plan(NamedTuple):
    """How much of it: the short form, for every change, or the long one."""
    short: bool
    minutes: float
    events: int
    seed: int
    sanitizer: str  # that the programs were built with, if any
    shift: object = None  # who watches the scenarios that are watched

    def pick(self, short, long):
        return short if self.short else long


class Findings:
    def __init__(self, plan):
        self._plan = plan
        self.injected, self.seen, self.timings, self.not_done, self.failures = {}, {}, {}, [], []

    def inject(self, what, count):
        self.injected[what] = self.injected.get(what, 0) + count

    def see(self, what, count):
        self.seen[what] = self.seen.get(what, 0) + count

    def check(self, holds, text):
        if not holds:
            self.failures.append(text)

    def equal(self, what, value, expected):
        self.check(value == expected, f"{what}: {value}, expected {expected}")

    def none(self, texts):
        self.failures += texts

    def time(self, what, seconds, most):
        """The longest one is printed; judged only in the long form, as this machine may be shared."""
        self.timings[what] = max(round(seconds, 2), self.timings.get(what, 0))
        if not self._plan.short:
            self.check(seconds <= most, f"{what} took {seconds:.2f} s, more than {most:g}")

    @contextlib.contextmanager
    def named(self, part):
        """What fails meanwhile is said of this part of the row."""
        before = len(self.failures)
        try:
            yield
        finally:
            self.failures[before:] = [f"{part}: {text}" if part else text for text in self.failures[before:]]

    def skip_part(self, reason):
        self.not_done.append(reason)

    def verdict(self):
        return "FAILS" if self.failures else "holds in part" if self.not_done else "holds"


def _counts(of):
    return ", ".join(f"{n} {what}" for what, n in of.items()) or "–"


class Table:
    HEAD = ("", "promise", "injected", "seen", "bar", "verdict")

    def __init__(self):
        self.rows = []

    def play(self, rows, plan, not_here=None):
        """Prints each row's line. Several groups have a process each."""
        groups = {}
        for row in rows:
            groups.setdefault(row.group, []).append(row)
        if len(groups) == 1:
            for row in rows:
                self.add(self.found(row, plan, not_here))
            return
        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()
        players = [fork.Process(target=lambda g=group: [queue.put(self.found(row, plan, not_here)) for row in g], daemon=True)
                   for group in groups.values()]
        for player in players:
            player.start()
        for _ in rows:
            self.add(queue.get())
        for player in players:
            player.join()

    def add(self, found):
        self.rows.append(found)
        print(self.line(found), flush=True)

    @staticmethod
    def found(row, plan, not_here):
        random.seed(plan.seed)
        findings, begun = Findings(plan), time.monotonic()
        skipped = not_here or row.run(findings, plan)
        verdict = "skipped" if skipped and not findings.failures else findings.verdict()
        notes = [skipped] if verdict == "skipped" else [*findings.failures, *("not done: " + r for r in findings.not_done)]
        return {"row": row.name, "promise": row.promise, "bar": row.bar, "verdict": verdict, "injected": findings.injected,
                "seen": findings.seen, "timings": findings.timings, "notes": notes, "seconds": round(time.monotonic() - begun, 1)}

    @staticmethod
    def line(r):
        timings = [f"{what} ≤ {seconds:g} s" for what, seconds in r["timings"].items()]
        seen = "; ".join([_counts(r["seen"]), *timings] if r["seen"] or not timings else timings)
        verdict = r["verdict"] + "".join(f"; {n}" for n in r["notes"])
        return "| " + " | ".join((r["row"], r["promise"], _counts(r["injected"]), seen, r["bar"], verdict)) + " |"

    def head(self):
        return f"| {' | '.join(self.HEAD)} |\n|{' --- |' * len(self.HEAD)}"

    def summary(self):
        verdicts = [r["verdict"] for r in self.rows]
        return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)) + f", in {sum(r['seconds'] for r in self.rows):.0f} s"

    def verdicts(self):
        return {r["verdict"] for r in self.rows}
