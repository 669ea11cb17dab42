#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documents, made from tiny inputs: each says where its figures come from."""
import subprocess
import sys

import browser
import harness

MAKE = harness.HERE.parents[1] / "docs" / "images" / "make.py"

class Pictures(browser.InABrowser):
    def test_all_are_made(self):
        done = subprocess.run([sys.executable, "-B", MAKE, "--short", "--out", self.folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        made = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        self.assertEqual(made.keys(), {"page.png", "page-dark.png", "event.png", "event-dark.png", "packing.svg", "threads.svg", "efficiency.svg", "way.svg"})
        for name in ("packing", "threads", "efficiency"):
            self.assertRegex(made[f"{name}.svg"].decode(), rf"\./run pictures {name}<[\s\S]*; \d{{4}}-\d\d-\d\d<")


if __name__ == "__main__":
    harness.main()
