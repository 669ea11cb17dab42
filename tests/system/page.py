#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shifter's page in a browser: what it says in each state, that it can be read by eyes, keys and screen readers, and that it asks
nobody but its daemon. Screenshots are kept in KOTO_L3_SCREENSHOTS, or thrown away."""
import base64
import http.client
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest

import harness
import level2
import selection_stage

CHROMIUM, DRIVER = pathlib.Path("/usr/bin/chromium"), pathlib.Path("/usr/bin/chromedriver")
DESKTOP, PHONE = (1280, 900), (390, 844)
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA, of text of usual size
MOST_BYTES = 300_000
FRAGMENT_HEAD, BOARD_HEAD = 4, 12  # bytes

# The contrast of each element's own text with what is painted behind it.
CONTRASTS = """
const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; }
  return [255, 255, 255]; };
return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
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
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size[0] < 600)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
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

    def press(self, key):
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.in_session("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

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
    def open(self, size=DESKTOP, dark=False):
        self.here = f"http://{harness.HOST}:{self.ports.monitor}/"
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

    def send(self, daemon, events, spill=1):
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        for number in range(1, events + 1):
            sender.event(spill, number, maker.fragments(spill, number))

    def assert_readable(self):
        bad = [(name, round(ratio, 2)) for name, ratio in self.browser.run(CONTRASTS) if ratio < LEAST_CONTRAST]
        self.assertEqual(bad, [])
        wide = self.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.assertLessEqual(wide, 0, "wider than its window")

    def assert_quiet(self):
        self.assertEqual(self.browser.complaints(), [])


class Page(InABrowser):
    def test_a_quiet_run_is_green_and_counts(self):
        self.start_receiver()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "a receiver")
        self.open()
        self.wait_for_text("mode", "node 3 · receiving · run 7")
        self.assertEqual(self.browser.run("return document.title"), "node 3: receiving – koto-l3d")
        self.assertIn("no event yet", self.text("when"))
        self.send(daemon, 30)
        daemon.wait_for_stored(30)
        self.wait_for_text("when", "ago")
        self.wait_for_text("numbers", "30")
        self.assertTrue(self.browser.run("return document.getElementById('problem').hidden"))
        self.assert_readable()
        self.keep_screenshot("quiet")
        asked = self.browser.run("return performance.getEntries().filter(e => e.name.startsWith('http')).map(e => e.name)")
        self.assertTrue(asked and all(name.startswith(self.here) for name in asked), asked)
        self.assertLess(len(daemon.get("/")[1]), MOST_BYTES)
        paint = self.browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms", flush=True)
        self.assert_quiet()

    def test_without_a_run_it_says_so_and_is_quiet(self):
        self.start_receiver()
        control = self.folder / "control.sock"
        daemon = self.keep(harness.Daemon(self.write_config(run={"control": str(control), "ledger": f"{self.folder}/ledgers/"}), self.ports, self.folder))
        daemon.wait_to_say("ready for runs")
        self.open()
        self.wait_for_text("mode", "no run")
        self.assertEqual(self.state(), "idle")
        self.wait_for_text("problem", "begin a run with `koto-l3 run start`")
        self.keep_screenshot("idle")
        self.assertEqual([daemon.get(path)[:2] for path in ("/detector", "/event", "/waveforms")], [(200, "null"), (200, "null"), (200, "")])
        self.assertEqual(self.run_tool("run", "start", "--socket", control)[0], 0)
        self.wait_for_text("mode", "run 7")
        self.send(daemon, 30)
        daemon.wait_for_stored(30)
        self.assertEqual(self.run_tool("run", "stop", "--socket", control)[0], 0)
        self.wait_for_text("mode", "no run")
        self.browser.run("return pollEvent()")
        self.assert_readable()
        self.send(daemon, 1, spill=2)  # without a run it is lost
        self.wait_for_text("problem", "data come without a run")
        self.assertEqual(self.state(), "off")
        self.keep_screenshot("no-run")
        self.assert_quiet()

    def test_an_absent_receiver_is_said_with_what_to_do(self):
        daemon = self.start_daemon()
        self.open(size=PHONE, dark=True)
        self.wait_for_text("mode", "receiving, degraded")
        self.wait_for_text("problem", "start koto-l3 receive there".replace("koto-l3 receive", "`koto-l3 receive`"))
        self.assertIn("receiver absent", self.text("problem"))
        self.assertIn("receiver_absent", self.text("changes"))
        self.assert_readable()
        self.keep_screenshot("absent-dark-phone")
        self.assert_quiet()
        daemon.kill()
        self.wait_for_text("mode", "no answer from the daemon")
        self.assertEqual(self.state(), "lost")
        self.assertIn("systemctl status koto-l3d", self.text("problem"))
        self.assert_readable()
        self.keep_screenshot("lost-dark-phone")

    def test_a_bad_crate_is_seen(self):
        self.start_receiver()
        daemon, maker = self.start_daemon(), level2.EventMaker(self.crates, 5)
        sender = self.udp_sender(daemon)
        self.open()

        def named():
            for _ in range(10):
                self.number += 1
                sender.event(1, self.number, maker.fragments(1, self.number), without=(1,) if self.number > 40 else ())
            return "silent" in self.text("crates")
        self.number = 0
        harness.wait_until(named, lambda: f"a silent crate in {self.text('crates')}")
        cells = self.browser.run("return [...document.querySelectorAll('#crates li')].map(e => [e.innerText.split('\\n')[0], e.className])")
        self.assertEqual(cells, [["0", ""], ["1", "bad"], ["2", ""]])
        self.assertEqual(self.state(), "degraded")
        self.assertIn("crate 1 is silent", self.text("problem"))
        self.assert_readable()
        self.keep_screenshot("bad-crate")
        self.assert_quiet()

    def test_keys_and_screen_readers_reach_everything(self):
        daemon = self.start_daemon()
        self.open()
        self.wait_for_text("mode", "receiving")
        self.assertEqual(self.browser.run("return [document.getElementById('mode').role, document.documentElement.lang]"), ["status", "en"])
        reached = set()
        for _ in range(60):
            self.browser.press("\ue004")  # tabulator
            reached.add(self.browser.run("const e = document.activeElement; return e.tagName === 'A' ? e.innerText : e.title"))
        self.assertLessEqual({"metrics", "status", "health", "readiness"}, reached)
        self.assertTrue(any(name and name.startswith("tcp: ") for name in reached), reached)
        unnamed = self.browser.run(
            "return [...document.querySelectorAll('svg[role=img], ul, table th')].filter(e => !e.getAttribute('aria-labelledby') && !e.textContent.trim()).length")
        self.assertEqual(unnamed, 0)
        self.assert_quiet()


class Event(InABrowser, selection_stage.Selecting):
    """The calorimeter's face with the latest kept event, and a waveform on click."""

    def setUp(self):
        super().setUp()
        self.file = self.simulate(40, spills=1)
        self.daemon = self.run_daemon(40, file=self.file)
        self.shown = json.loads(self.daemon.get("/event")[1])
        self.samples = {}  # by address, as it was sent
        fragments = self.events_in(self.file)[self.shown["spill"]][self.shown["event"] - 1]
        for place, fragment in fragments.items():
            crate = self.crates[place]
            channels = level2.CHANNELS[crate.kind]
            for board in range(crate.boards):
                words = struct.unpack_from(f">{level2.SAMPLE_WORDS}H", fragment, FRAGMENT_HEAD + board * level2.BOARD_BYTES + BOARD_HEAD)
                for channel in range(channels):
                    self.samples[f"{crate.number}/{level2.SLOTS[board]}/{channel}"] = [w & 0x3FFF for w in words[channel::channels]]

    def test_the_pages_have_what_was_sent(self):
        detector = json.loads(self.daemon.get("/detector")[1])
        inputs = {name.split(", ")[-1]: number for number, name in enumerate(detector["inputs"]) if name}
        self.assertEqual(inputs.keys(), self.samples.keys())
        self.assertEqual(len(detector["crystals"]), 2716)
        kept = {(e["spill"], e["event"]): e for e in self.select(self.file)["events"] if e["kept"]}
        this = kept[self.shown["spill"], self.shown["event"]]
        self.assertEqual(self.shown["lines"], this["kept_by"])
        for address, number in inputs.items():
            samples = self.samples[address]
            self.assertEqual(self.shown["heights"][number], max(0, max(samples) - sorted(samples)[len(samples) // 2]), address)
        self.assertEqual(sum(h is None for h in self.shown["heights"]), len(detector["inputs"]) - len(inputs))
        waveforms = self.daemon.get("/waveforms", raw=True)[1]
        size = 8 + len(detector["inputs"]) // 16 * 2048
        self.assertEqual(len(waveforms) % size, 0)
        self.assertEqual(struct.unpack_from("<II", waveforms), (self.shown["spill"], self.shown["event"]))
        for address, number in inputs.items():
            length = len(self.samples[address])
            self.assertEqual(number // 16 in detector["wide"], length == 256)
            at = 8 + number // 16 * 2048 + 2 * (number % 16) * length
            self.assertEqual(list(struct.unpack_from(f"<{length}H", waveforms, at)), self.samples[address], address)
        told = sum(len(self.daemon.get(page)[1]) for page in ("/", "/detector", "/event"))
        self.assertLess(told, MOST_BYTES)

    def test_the_face_shows_it_and_a_click_its_waveform(self):
        self.open()
        self.wait_for_text("event-text", f"spill {self.shown['spill']}, event {self.shown['event']}")
        highest = max(self.shown["heights"], key=lambda h: h or 0)
        self.assertIn(f": {highest}", self.text("pulses").splitlines()[0])
        painted = "const c = document.getElementById('face'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)"
        self.assertTrue(self.browser.run(painted))
        self.browser.run("document.querySelector('#pulses button').click()")
        self.wait_for_text("waveform-text", "samples of")
        address = self.text("pulses").splitlines()[0].split(": ")[0].split(", ")[-1]
        samples = self.samples[address]
        self.assertIn(f"{len(samples)} samples", self.text("waveform-text"))
        self.assertIn(f"from {min(samples)} to {max(samples)} counts, highest at sample {samples.index(max(samples))}", self.text("waveform-text"))
        self.assertEqual(self.browser.run("return document.querySelector('#waveform polyline').points.length"), len(samples))
        self.assert_readable()
        self.keep_screenshot("event")
        # A click into the middle of a crystal of the face.
        self.browser.run("""const [x, y, , input] = places.crystals[100], c = document.getElementById('face'), box = c.getBoundingClientRect();
            const reach = Math.max(...places.crystals.map(p => Math.max(Math.abs(p[0]), Math.abs(p[1])) + p[2] / 2));
            c.dispatchEvent(new MouseEvent('click', {clientX: box.left + (x + reach) / (2 * reach) * box.width, clientY: box.top + (reach - y) / (2 * reach) * box.height}))""")
        self.wait_for_text("waveform-text", "crystal 100,")
        self.browser.run("document.getElementById('go-on').click()")
        self.wait_for_text("event-text", "event")
        self.assertEqual(self.text("waveform-text"), "")
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
