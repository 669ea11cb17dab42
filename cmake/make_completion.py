#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the shell completion of a program's commands and options from its --help:
make_completion.py bash|zsh PROGRAM >FILE."""
import itertools
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from help_text import commands_of, told  # noqa: E402


def options_of(lists):
    """(names, allowed values or None, help text) of each option."""
    for entry, text in itertools.chain(*lists.values()):
        if not entry.startswith("-"):
            continue
        names, _, rest = entry.partition(" ")
        values = re.search(r"\{([\w,-]+)\}", rest)
        takes = values[1].split(",") if values else [] if re.match(r"[A-Z]", rest) and not rest.startswith("Excludes") else None
        yield names.split(","), takes, text


def tree(program, *command):
    """{command words: (options, subcommands with their texts)}"""
    _, _, lists = told(program, *command)
    below = [entry for _, entries in commands_of(lists) for entry in entries]
    found = {command: (list(options_of(lists)), below)}
    for name, _ in below:
        found |= tree(program, *command, name)
    return found


def bash(name, commands):
    function = "_" + re.sub(r"\W", "_", name)
    print(f"# Completion of {name} for bash, made of what it says with --help.")
    print(f"{function}() {{\n  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= word words i")
    print("  for ((i = 1; i < COMP_CWORD; ++i)); do\n    word=\"${command:+$command }${COMP_WORDS[i]}\"\n    case $word in")
    for command in commands:
        if command:
            print(f"    '{' '.join(command)}') command=$word ;;")
    print("    esac\n  done\n  COMPREPLY=()\n  case $command,$prev in")
    for command, (options, _) in commands.items():
        for names, takes, _ in options:
            cases = "|".join(f"'{' '.join(command)},{n}'" for n in names)
            if takes:
                print(f"  {cases}) COMPREPLY=($(compgen -W '{' '.join(takes)}' -- \"$cur\")); return ;;")
            elif takes is not None:
                print(f"  {cases}) compopt -o default 2>/dev/null; return ;;")
    print("  esac\n  case $command in")
    for command, (options, below) in commands.items():
        words = [n for names, _, _ in options for n in names] if not below else [n for names, _, _ in options for n in names if n.startswith("--")]
        print(f"  '{' '.join(command)}') words='{' '.join([n for n, _ in below] + words)}' ;;")
    print("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))")
    print("  if [[ $cur != -* ]]; then compopt -o default 2>/dev/null; fi\n}")
    print(f"complete -F {function} {name}")


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(name, commands):
    print(f"#compdef {name}\n# Completion of {name} for zsh, made of what it says with --help.")

    def level(command, indent):
        options, below = commands[command]
        pad = "  " * indent
        arguments = []
        for names, takes, text in options:
            text = re.sub(r"([\[\]:\\])", r"\\\1", text)
            action = "" if takes is None else f":value:({' '.join(takes)})" if takes else ":value:_files"
            arguments += [quoted(f"{n}[{text}]{action}") for n in names]
        if below:
            print(f"{pad}if (( CURRENT == 2 )); then")
            print(f"{pad}  local -a commands=({' '.join(quoted(n + ':' + t.replace(':', chr(92) + ':')) for n, t in below)})")
            print(f"{pad}  _describe command commands")
            print(f"{pad}  _arguments {' '.join(arguments)}")
            print(f"{pad}  return\n{pad}fi\n{pad}case $words[2] in")
            for n, _ in below:
                print(f"{pad}{n})\n{pad}  shift words; (( CURRENT-- ))")
                level((*command, n), indent + 1)
                print(f"{pad}  ;;")
            print(f"{pad}esac")
        else:
            print(f"{pad}_arguments {' '.join(arguments)} '*:file:_files'")

    print(f"_{name}() {{")
    level((), 1)
    print(f"}}\n_{name} \"$@\"")


def main() -> None:
    shell, program = sys.argv[1:]
    {"bash": bash, "zsh": zsh}[shell](pathlib.Path(program).name, tree(program))


main()
