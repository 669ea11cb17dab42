# SPDX-License-Identifier: Apache-2.0
"""R7, R9, R12–14 and R26: what other commands do, and what is not there yet."""
import chain
from chain import Skipped
from table import Row


def fuzzers(findings, plan):
    raise Skipped("there are no fuzzers yet")


def outage(findings, plan):
    raise Skipped("there is no spool behind the outbox yet")


def compute_faults(findings, plan):
    raise Skipped("there is no executor that fails on purpose yet")


def sanitizers(findings, plan):
    if not plan.sanitizer:
        raise Skipped("these programs are without a sanitizer: --build build-asan after ./run build asan, or ./run test asan and tsan")
    findings.inject(f"programs run with {plan.sanitizer}", chain.Chain.programs_run)
    findings.see("reports", len(chain.Chain.reports))
    findings.none(chain.Chain.reports)


ROWS = [Row("R7", "hostile input: no crash, leak, hang", "60 s a parser", fuzzers),
        Row("R9", "an outage is ridden out", "0 lost; drain ≥ 1.3 × input", outage),
        Row("R12–14", "GPU error, hang, silent error", "switch ≤ 1 s, hang seen ≤ 2 s, wrong bit found", compute_faults),
        Row("R26", "no races, no memory errors", "0 reports", sanitizers)]
