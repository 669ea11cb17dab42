# SPDX-License-Identifier: Apache-2.0
"""R7 and R26: what other commands do, and what is not there yet."""
import re
import subprocess

import chain
from chain import HERE, Skipped
from table import Row

FUZZ_SECONDS, MISSING_RESOURCE = 60, 69


def fuzzers(findings, plan):
    if plan.short:
        raise Skipped("in ./run test they are tests of their own (ctest -L fuzz)")
    done = subprocess.run([HERE.parents[1] / "run", "fuzz", "--seconds", str(FUZZ_SECONDS)], capture_output=True, text=True)
    if done.returncode == MISSING_RESOURCE:
        raise Skipped(f"./run fuzz: {done.stderr.strip()[-200:]}")
    for executions, result in re.findall(r"^\w+ +(\d+) +\d+ +\d+  (\w+)$", done.stdout, re.M):
        findings.inject(f"targets fuzzed for {FUZZ_SECONDS} s", 1)
        findings.inject("inputs", int(executions))
        findings.see("targets that failed", int(result != "ok"))
    findings.check(done.returncode == 0, f"./run fuzz ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")


def sanitizers(findings, plan):
    if not plan.sanitizer:
        raise Skipped("these programs are without a sanitizer: --build build-asan after ./run build asan, or ./run test asan and tsan")
    findings.inject(f"programs run with {plan.sanitizer}", chain.Chain.programs_run)
    findings.see("reports", len(chain.Chain.reports))
    findings.none(chain.Chain.reports)


ROWS = [Row("R7", "hostile input: no crash, leak, hang", "60 s a parser", lambda plan: [fuzzers]),
        Row("R26", "no races, no memory errors", "0 reports", lambda plan: [sanitizers])]
