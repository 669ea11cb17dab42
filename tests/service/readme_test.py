#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run readme-test: from a bare Debian 12 to a page that shows selected events, by the README word for word. Follows the first
command of "Try it", "Step by step" and "Break it on purpose" in a container that has nothing but the minimal system and this
commit, opens the page in a headless browser, and says after how many seconds each thing was there, and what they cost of the
processors. ./run demo installs the packages over the network and takes ports that are free; the steps have a network of their own,
because their ports are fixed. As root; a first call also makes the bare system (debootstrap)."""
import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

import machine

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NETWORK = "koto-l3-readme"
LIMIT = 3600  # seconds for any one command
PROMISED = 540  # seconds to the page
PAGE = "http://127.0.0.1:9420/"


def blocks(readme):
    """{heading: what the first block of shell commands below it says}"""
    return {heading: block for heading, block in re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```sh\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)}


def followed(readme):
    """The commands of the demo, and those of the steps and the loss; --watch is left out, because it runs until Ctrl-C."""
    text = blocks(readme)
    demo, watch = text["Try it"].splitlines()
    steps, loss = text["Step by step"], text["Break it on purpose"]
    assert demo.startswith("./run demo ") and "--watch" in watch and PAGE in steps, "the README no longer has what this test follows"
    return demo, f"{steps}set +e\n{loss}[ $? = 1 ]\n"


class Container:
    def __init__(self, root, log):
        self.root, self.log = root, log

    def follow(self, commands, *options):
        """Runs them in one shell, in the folder of the source. Ends this program if one of them fails."""
        run = ["systemd-nspawn", "--quiet", "-D", self.root, "--register=no", "--keep-unit", "--as-pid2", "--pipe", "--chdir=/root/koto-l3", *options,
               "bash", "-e", "-c", commands]
        with self.log.open("ab") as log:
            program = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            code = program.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = f"no end within {LIMIT} s"
        finally:
            program.terminate()  # and it ends its container; what is killed would leave it behind
            program.wait()
        if code != 0:
            sys.exit(f"{commands}\nends with {code}:\n{self.log.read_text(errors='replace')[-3000:]}")


class Page:
    """Opens the page until it shows stored and rejected events."""

    def __init__(self):
        self.seen_at, self.done = None, threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def _watch(self):
        browser = ["ip", "netns", "exec", NETWORK, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", PAGE]
        while not self.done.wait(1) and not self.seen_at:
            shown = subprocess.run(browser, capture_output=True, text=True, check=False).stdout
            if re.search(r"<dt>stored</dt><dd>[1-9].*<dt>rejected</dt><dd>[1-9]", shown):
                self.seen_at = time.monotonic()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the seconds there, too")
    arguments = parser.parse_args()
    wanted = followed((SOURCE / "README.md").read_text())
    system = machine.base_root(pathlib.Path.home() / ".cache/koto-l3/roots", [], "")
    with tempfile.TemporaryDirectory(dir=system.parent) as folder:
        folder = pathlib.Path(folder)
        subprocess.run(["cp", "-a", "--reflink=auto", system, folder / "root"], check=True)
        subprocess.run(["git", "clone", "-q", SOURCE, folder / "root/root/koto-l3"], check=True)
        container = Container(folder / "root", folder / "log")
        seconds, began = {}, time.monotonic()

        def note(what, at=None):
            seconds[what] = round((at or time.monotonic()) - began)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            print(f"{seconds[what]:5} s  {what} ({used.ru_utime + used.ru_stime:.0f} s of processors so far)", flush=True)

        demo, steps = wanted
        container.follow(demo)
        note("the demo showed its table")
        with machine.network(NETWORK), Page() as page:
            container.follow(steps, f"--network-namespace-path=/run/netns/{NETWORK}")
            if not page.seen_at:
                sys.exit("the page never showed selected events")
            note("the page showed selected events", page.seen_at)
            note("every step of the README followed")
    print(f"nine minutes to the page: {'held' if seconds['the page showed selected events'] <= PROMISED else 'NOT held'}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(seconds, indent=2) + "\n")


if __name__ == "__main__":
    main()
