# SPDX-License-Identifier: Apache-2.0
"""R26: what the sanitizers say of all programs that the rows before have run."""
import chain
from chain import Skipped
from table import Row


def sanitizers(findings, plan):
    if not plan.sanitizer:
        raise Skipped("these programs are without a sanitizer: --build build-asan after ./run build asan, or ./run test asan and tsan")
    findings.inject(f"programs run with {plan.sanitizer}", chain.Chain.programs_run)
    findings.see("reports", len(chain.Chain.reports))
    findings.none(chain.Chain.reports)


ROWS = [Row("R26", "no races, no memory errors", "0 reports", lambda plan: [sanitizers])]
