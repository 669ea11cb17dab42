# SPDX-License-Identifier: Apache-2.0
"""R24: a configuration with errors never goes live."""
import re
import signal

import harness
from chain import Chain
from table import Row

BAD_CONFIGURATION = 78
REFUSED = 'koto_l3_reloads_total{outcome="refused"}'
ERRORS = {"a key that is none": {"forward": {"rat": "4 Gb/s"}}, "a value out of range": {"frames": {"count": 1}},
          "a wrong unit": {"outbox": {"memory": "4 meters"}}, "a wrong type": {"run": {"number": "seven"}},
          "a readout that is none": {"readout": {"crates": ["0-1: 3 x 126 MHz"]}}}


def bad_configuration(findings, plan):
    with Chain() as c:
        daemon = c.start_daemon()
        before = daemon.status()
        for what, sections in ERRORS.items():
            config = c.write_config("bad.toml", **sections)
            for more in (("--check-config",), ()):
                p = c.keep(harness.Program([harness.BIN / "koto-l3d", "--config", config, *more], c.folder / "bad.log"))
                findings.equal(f"{what}: exit code", p.wait(), BAD_CONFIGURATION)
                findings.check(re.search(rf"{re.escape(str(config))}:\d+:\d+", p.said()), f"{what}: no file:line:column in {p.said()[:300]}")
                findings.inject("starts and checks with an error", 1)
                findings.see("told with file, line and column", 1)
            c.write_config(**sections)
            refused = daemon.metrics()[REFUSED]
            daemon.signal(signal.SIGHUP)
            harness.wait_until(lambda: daemon.metrics()[REFUSED] > refused, f"{what}: the reload to be refused")
            findings.check(re.search(rf"reload: {re.escape(str(daemon.config))}:\d+:\d+", daemon.said()), f"{what}: the log has no file:line:column")
            findings.inject("reloads with an error", 1)
            findings.see("refused, and told with file, line and column", 1)
        after = daemon.status()
        findings.equal("session of the daemon that ran on", after["session"], before["session"])
        findings.equal("its exit code", daemon.stop(), 0)
        findings.equal("settings taken of a file with an error", "reload: now" in daemon.said(), False)


ROWS = [Row("R24", "a bad configuration never goes live", "0 effect; file:line:column told", bad_configuration)]
