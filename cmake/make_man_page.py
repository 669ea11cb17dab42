#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a man page from a program's --help: make_man_page.py PROGRAM VERSION TEMPLATE >PAGE. The template has the
other sections, in roff; `@help@` in it stands for the options and commands. The page is named after the template,
NAME.SECTION.in."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from help_text import commands_of, told  # noqa: E402


def roff(text: str) -> str:
    """Literal text: no control lines, no escapes, ASCII."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"[^\x00-\x7f]", lambda c: f"\\[u{ord(c.group()):04X}]", text)
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def tagged(entries, but=()) -> list[str]:
    lines = []
    for name, text in entries:
        if name.split(" ")[0] not in but:
            lines += [".TP", f"\\fB{roff(name)}\\fR", roff(text)]
    return lines


def help_of_command(program: str, *command: str) -> list[str]:
    """A section for the command, then one for each of its own commands."""
    words, usage, own = told(program, *command)
    lines = [f".SS {roff(' '.join(command))}", f"\\fB{roff(usage)}\\fR", ".PP", roff(words[0])]
    lines += tagged([*own.get("Positionals", []), *own["Options"]], ("-h,--help", "--version"))
    below = [name for _, entries in commands_of(own) for name, _ in entries]
    lines += [".PP", *map(roff, words[1:])] if words[1:] and len(command) == 1 else []
    return lines + [line for name in below for line in help_of_command(program, *command, name)]


def help_of(program: str) -> list[str]:
    _, _, lists = told(program)
    lines = [".SH OPTIONS", *tagged(lists["Options"])]
    for heading, commands in commands_of(lists):
        lines.append(".SH COMMANDS" + ("" if heading == "Commands" else f": {heading.upper()}"))
        for name, _ in commands:
            lines += help_of_command(program, name)
    return lines


def main() -> None:
    program, version, template = sys.argv[1:]
    name, section, _ = pathlib.Path(template).name.rsplit(".", 2)
    words, usage, _ = told(program)
    what = words[0].removeprefix(f"{name}: ")
    print(f'.TH {roff(name.upper())} {section} "" "koto\\-l3 {roff(version)}" "KOTO level\\-3 trigger"')
    print(f".SH NAME\n{roff(name)} \\- {roff(what)}\n.SH SYNOPSIS\n\\fB{roff(usage)}\\fR")
    print(pathlib.Path(template).read_text().replace("@help@", "\n".join(help_of(program))), end="")


main()
