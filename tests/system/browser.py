# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for the tests of pages: what it shows, whether that can be read, and what it complains of. Screenshots are kept
in KOTO_L3_SCREENSHOTS, or thrown away."""
import base64
import http.client
import json
import os
import pathlib
import re
import subprocess
import unittest

import harness

CHROMIUM, DRIVER = pathlib.Path("/usr/bin/chromium"), pathlib.Path("/usr/bin/chromedriver")
DESKTOP, PHONE = (1280, 900), (390, 844)
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA, of text of usual size

# The contrast of each element's own text with what is painted behind it.
CONTRASTS = """
const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const behind = e => { for (; e; e = e.parentElement ?? e.getRootNode().host) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; }
  return [255, 255, 255]; };
const within = root => [...root.querySelectorAll("*")].flatMap(e => e.shadowRoot ? [e, ...within(e.shadowRoot)] : [e]);
return within(document.body).filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
    && !["SCRIPT", "STYLE"].includes(e.tagName))
  .map(e => { const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return [e.tagName + "#" + e.id + " " + e.textContent.slice(0, 30), (a + .05) / (b + .05)]; });
"""


class Browser:
    """A headless Chromium, told what to do in the words of WebDriver (https://www.w3.org/TR/webdriver2/)."""

    def __init__(self, size, dark):
        self.process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        told = next(line for line in self.process.stdout if "successfully on port" in line)
        self.port = int(re.search(r"on port (\d+)", told)[1])
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--no-first-run", f"--window-size={size[0]},{size[1]}"]
        capabilities = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                        "goog:chromeOptions": {"binary": str(CHROMIUM), "args": arguments}}
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        self.look(size, dark)

    def look(self, size, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size[0] < 600)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        answer = json.loads(harness.http_ask(connection, method, path, None if body is None else json.dumps(body))[2])["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{path}: {answer['message']}")
        return answer

    def in_session(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, **parameters):
        return self.in_session("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.in_session("POST", "/url", {"url": url})

    def run(self, script):
        return self.in_session("POST", "/execute/sync", {"script": script, "args": []})

    def find(self, tag):
        return next(iter(self.in_session("POST", "/element", {"using": "css selector", "value": tag}).values()))

    def complaints(self):
        """What the browser's console says of the page."""
        return [line["message"] for line in self.in_session("POST", "/se/log", {"type": "browser"}) if line["level"] in ("SEVERE", "WARNING")]

    def screenshot(self):
        """Of the whole page."""
        return base64.b64decode(self.devtools("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def quit(self):
        try:
            self.in_session("DELETE", "")
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@unittest.skipUnless(CHROMIUM.exists() and DRIVER.exists(), "chromium or chromedriver is missing (packages chromium, chromium-driver)")
class InABrowser(harness.SystemTest):
    def open(self, size=DESKTOP, dark=False, port=None):
        self.here = f"http://{harness.HOST}:{port or self.ports.monitor}/"
        self.browser = Browser(size, dark)
        self.addCleanup(self.browser.quit)
        self.browser.open(self.here)

    def text(self, element):
        return self.browser.run(f"return document.getElementById('{element}').innerText")

    def state(self):
        return self.browser.run("return document.getElementById('state').className")

    def wait_for_text(self, element, part):
        return harness.wait_until(lambda: part in self.text(element), lambda: f"'{part}' in {element}, which says: {self.text(element)}")

    def keep_screenshot(self, name):
        if folder := os.environ.get("KOTO_L3_SCREENSHOTS"):
            (pathlib.Path(folder) / f"page-{name}.png").write_bytes(self.browser.screenshot())

    def assert_readable(self, name):
        """By contrast and width. The name is that of a screenshot."""
        bad = [(name, round(ratio, 2)) for name, ratio in self.browser.run(CONTRASTS) if ratio < LEAST_CONTRAST]
        self.assertEqual(bad, [])
        wide = self.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.assertLessEqual(wide, 0, "wider than its window")
        self.keep_screenshot(name)

    def assert_quiet(self):
        self.assertEqual(self.browser.complaints(), [])
