#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documents, made from tiny inputs: each says where its figures come from, and no text hides another one."""
import re
import struct
import subprocess
import sys

import browser
import harness

MAKE = harness.HERE.parents[1] / "docs" / "images" / "make.py"
TEXTS = """return [...document.querySelectorAll("text")].map(e => { const box = e.getBoundingClientRect();
  return [e.textContent, box.left, box.top, box.right, box.bottom]; })"""


class Pictures(browser.InABrowser):
    def setUp(self):
        super().setUp()
        done = subprocess.run([sys.executable, "-B", MAKE, "--short", "--out", self.folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_all_are_made_and_can_be_read(self):
        made = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        self.assertEqual(made.keys(), {"page.png", "page-dark.png", "event.png", "event-dark.png", "packing.svg", "threads.svg", "efficiency.svg", "way.svg"})
        for name, content in made.items():
            with self.subTest(name):
                self.assertLess(len(content), 150_000)
                if name.endswith(".png"):
                    self.assertEqual(struct.unpack_from(">I", content, 16), (1200,))
                    self.assertNotEqual(content, made.get(name.replace("-dark", "")) if "-dark" in name else None)
                else:
                    self.check_drawing(name, content.decode())

    def check_drawing(self, name, text):
        self.assertNotRegex(text, r"\bnan\b|\binf\b")
        if name != "way.svg":
            self.assertRegex(text, rf"\./run pictures {name[:-4]}<[\s\S]*; \d{{4}}-\d\d-\d\d<")
            self.assertGreaterEqual(len(re.findall('class="l0 curve', text)), 1)
        width, height = map(int, re.search(r'width="(\d+)" height="(\d+)"', text).groups())
        shown = browser.Browser((width, height), False)
        self.addCleanup(shown.quit)
        shown.open(f"file://{self.folder / name}")
        colours = []
        for dark in (False, True):
            shown.look((width, height), dark)
            colours.append(shown.run("return [getComputedStyle(document.querySelector('text')).fill, getComputedStyle(document.querySelector('.paper')).fill]"))
        self.assertEqual(len({*colours[0], *colours[1]}), 4, "of text and paper, on light and on dark")
        boxes = shown.run(TEXTS)
        for n, (one, left, top, right, bottom) in enumerate(boxes):
            self.assertTrue(0 <= left and right <= width and 0 <= top and bottom <= height, f"{one} is cut off")
            for other, l, t, r, b in boxes[n + 1:]:
                self.assertFalse(left < r and l < right and top + 3 < b and t + 3 < bottom, f"'{one}' and '{other}' overlap")


if __name__ == "__main__":
    harness.main()
