# SPDX-License-Identifier: Apache-2.0
"""A row of the table of faults, what it found, and how the table is printed."""
import contextlib
import json
from typing import Callable, NamedTuple


class Row(NamedTuple):
    name: str
    promise: str
    bar: str
    run: Callable  # (findings, plan)


class Plan(NamedTuple):
    """How much of it: the short form, for every change, or the long one."""
    short: bool
    minutes: float
    events: int
    seed: int
    sanitizer: str  # that the programs were built with, if any

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
            self.failures[before:] = [f"{part}: {text}" for text in self.failures[before:]]

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

    def add(self, row, findings, seconds, skipped=None):
        notes = [*findings.failures, *("not done: " + r for r in findings.not_done)]
        verdict = "skipped" if skipped else findings.verdict()
        if skipped:
            notes = [skipped]
        self.rows.append({"row": row.name, "promise": row.promise, "bar": row.bar, "verdict": verdict, "injected": findings.injected,
                          "seen": findings.seen, "timings": findings.timings, "notes": notes, "seconds": round(seconds, 1)})
        return verdict

    @staticmethod
    def line(r):
        seen = _counts(r["seen"]) + "".join(f"; {what} ≤ {seconds:g} s" for what, seconds in r["timings"].items())
        verdict = r["verdict"] + "".join(f"; {n}" for n in r["notes"])
        return "| " + " | ".join((r["row"], r["promise"], _counts(r["injected"]), seen, r["bar"], verdict)) + " |"

    def head(self):
        return f"| {' | '.join(self.HEAD)} |\n|{' --- |' * len(self.HEAD)}"

    def text(self):
        return "\n".join([self.head(), *map(self.line, self.rows)])

    def summary(self):
        verdicts = [r["verdict"] for r in self.rows]
        return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)) + f", in {sum(r['seconds'] for r in self.rows):.0f} s"

    def failed(self):
        return any(r["verdict"] == "FAILS" for r in self.rows)

    def all_skipped(self):
        return all(r["verdict"] == "skipped" for r in self.rows)

    def json(self):
        return json.dumps(self.rows, indent=1, ensure_ascii=False) + "\n"
