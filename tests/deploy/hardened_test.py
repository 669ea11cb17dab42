#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether programs are linked and compiled to be hard to break into: hardened_test.py PROGRAM…

Reads the ELF with readelf, which comes with the compiler. A flag that gets lost in the build does not show otherwise."""
import re
import subprocess
import sys


def readelf(program, *what):
    return subprocess.run(["readelf", "-W", *what, program], check=True, capture_output=True, text=True).stdout


def missing(program):
    """What the program lacks, in words."""
    header, segments = readelf(program, "-h"), readelf(program, "-l")
    dynamic, symbols = readelf(program, "-d"), readelf(program, "--dyn-syms")
    flags_1 = re.search(r"\(FLAGS_1\)\s+Flags: (.*)", dynamic)
    flags_1 = flags_1[1].split() if flags_1 else []
    # NAME OFFSET VIRTUAL PHYSICAL SIZE SIZE FLAGS ALIGNMENT; the flags have blanks between them
    rights = [(m[1], m[2].replace(" ", "")) for m in
              re.finditer(r"^  ([A-Z_]+)\s+(?:0x[0-9a-f]+\s+){5}([RWE ]+?)\s+0x", segments, re.M)]
    found = {
        "a position-independent executable (-pie)": "Type:" in header and re.search(r"Type:\s+DYN", header) and "PIE" in flags_1,
        "relocations that are read-only (-z relro)": any(name == "GNU_RELRO" for name, _ in rights),
        "all symbols bound at the start (-z now)": "NOW" in flags_1,
        "a stack that cannot be executed": ("GNU_STACK", "RW") in rights,
        "no memory both written and executed": not any("W" in r and "E" in r for _, r in rights),
        "no relocations in the code": "TEXTREL" not in dynamic,
        "guarded stack frames (-fstack-protector-strong)": "__stack_chk_fail" in symbols,
        "checked copies (_FORTIFY_SOURCE)": re.search(r" __(memcpy|snprintf|vsnprintf|read|recv)_chk", symbols),
        "checked subscripts (_GLIBCXX_ASSERTIONS)": "__glibcxx_assert_fail" in symbols or b"__glibcxx_assert" in strings(program),
    }
    return [what for what, is_there in found.items() if not is_there]


def strings(program):
    with open(program, "rb") as f:
        return f.read()


def main():
    wrong = [f"{program}: lacks {what}" for program in sys.argv[1:] for what in missing(program)]
    print("\n".join(wrong) or "ok")
    return 1 if wrong or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
