# SPDX-License-Identifier: Apache-2.0
"""Parses a program's --help, for man pages and for shell completion."""
import re
import subprocess


def parts(help_text: str):
    """CLI11's output: sentences, usage, lists of (name, text) by heading, and sentences again."""
    words, usage, lists = [], "", {}
    now = None
    for line in help_text.splitlines():
        entry = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        more = re.match(r" {10,}(\S.*)$", line)
        if line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif re.match(r"\w[\w ]*:$", line):
            now = lists.setdefault(line[:-1], [])
        elif more and now:
            now[-1] = (now[-1][0], (now[-1][1] + " " + more.group(1)).strip())
        elif entry and now is not None:
            now.append((entry.group(1), entry.group(2) or ""))
        elif line:
            now = None
            words.append(line)
    return words, usage, lists


def commands_of(lists):
    """[(heading, [(command, text)])]; other lists have options, or what is no option."""
    return [(heading, entries) for heading, entries in lists.items() if heading != "Positionals" and not entries[0][0].startswith("-")]


def told(program: str, *command: str):
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    return parts(done.stdout)
