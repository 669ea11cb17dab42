#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the table of docs/reliability.md that bounds what comes from outside: each source that reads it, and each fuzz target,
stands in a row, and each source, test and fuzz target that a row names exists; the test runs, and expects something. A source reads
what comes from outside if it calls one of READS. Each figure of a row's limit stands in one of its tests, as this number or, but for
times, one more or less, or as a constant that has it: of the test's own file, or of a source of the row. So a limit that no test
mentions is found, and one that was changed in the code or on the page alone; whether the test goes there from both sides is not. A
figure that no test names stands in a second table with the reason, and is a problem there once a test names it. `--self-test` shows
that each check can fail."""
import pathlib
import re
import sys
import tempfile

ROOMS = ["config", "daemon", "gpu", "monitor", "selection", "tools", "transport"]
HEADING = "## What comes from outside"
COLUMNS = ["what", "read in", "limit", "beyond it", "tests"]
NOT_REACHED = "### Limits that no test reaches"
COLUMNS_NOT_REACHED = ["what", "limit", "why"]
# Files, folders, sockets, ZeroMQ, standard input, environment, the formats of others: by any spelling of the system's calls, the
# standard library's and our own. A source that writes only is none.
READS = re.compile("|".join((
    r"\b(open_input|read_input|read_all|json::parse|toml::parse|(secure_)?getenv|program\.parse)\(",
    r"\bstd::(basic_)?w?(i?fstream|filebuf)\b", r"\bstd::w?cin\b", r"\bstdin\b|\bSTDIN_FILENO\b",
    r"\b(recursive_)?directory_iterator\(", r"\b(fd?open|popen|freopen|opendir|readdir|scandir)(64)?\((?![^;]*\"[wa][^\"]*\"\))",
    r"\bO_RD(ONLY|WR)\b",
    r"\b(fread|fgets|fgetc|getc|getchar|getdelim|f?scanf)\(", r"(?<![\w>])::readv?\(|\bpreadv?2?(64)?\(|\breadlink(at)?\(",
    r"\bmmap(64)?\((?![^;]*\bMAP_ANON)", r"\brecv(m?msg|from)?\(", r"\basync_(read\w*|receive\w*|accept|wait_for_message)\(|\bread_some\(",
    r"\b(getaddrinfo|gethostbyname\w*)\(", r"\bzmq_(msg_)?recv(msg)?\(", r"\b(splice|sendfile|copy_file_range|aio_read|io_uring_prep_read\w*)\(")), re.S)
NOT_OUTSIDE = {
    "transport/system/input_file.hpp": "opens for the others",
    "transport/system/file_io.hpp": "reads for the others",
    "transport/system/wake_event.hpp": "a descriptor of the process's own",
}


def readers(root: pathlib.Path) -> list[str]:
    """Paths of the sources that read what comes from outside."""
    found = []
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.[hc]pp")):
            name = path.relative_to(root).as_posix()
            if name not in NOT_OUTSIDE and READS.search(path.read_text()):
                found.append(name)
    return found


def rows(root: pathlib.Path, heading: str = HEADING) -> list[tuple[int, list[str]]]:
    """Line numbers and cells."""
    table, inside = [], False
    for number, line in enumerate((root / "docs/reliability.md").read_text().splitlines(), 1):
        if line.startswith(("## ", "### ")):
            inside = line == heading
        if inside and line.startswith("|") and not line.startswith("| ---"):
            table.append((number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]))
    return table


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


CASE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.M)
EXPECTS = re.compile(r"\b(EXPECT|ASSERT|RC_ASSERT|FAIL)|\bself\.(assert\w+|fail)\b|\bassert\b|\bwait_(until|for\w*)\(|\bexpect\w*\(|\bcheck\w*\(")


def expecting(functions: list[tuple[str, str]]) -> set[str]:
    """Of the functions of a Python file, by name and body: those that expect something, or call one that does."""
    names = {name for name, body in functions if EXPECTS.search(body)}
    while True:
        more = {name for name, body in functions if name not in names and any(re.search(rf"\b{n}\(", body) for n in names)}
        if not more:
            return names
        names |= more


UNITS = {"B": 1, "kB": 1000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ms": 0.001, "s": 1, "min": 60}
UNITS_IN_CODE = {"MIB": "MiB", "kibi": "KiB", "mebi": "MiB", "gibi": "GiB"}
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
FIGURE = re.compile(r"(?<![\w.])(\d{1,3}(?: \d{3})+|\d+(?:\.\d+)?)([⁰¹²³⁴⁵⁶⁷⁸⁹]*)(?: (B|kB|KiB|MiB|GiB|s|min)\b)?")
NO_FIGURE = re.compile(r"`[^`]*`|\([^)]*\)|\bIPv\d|\bZMTP \d")
LITERAL = r"0x[\da-fA-F][\da-fA-F'_]*|\d[\d'_]*(?:\.\d+)?"
TERM = re.compile(rf"(?<![\w.])({LITERAL})[uUlL]*\}}?\s*\)?\s*(?:(<<|\*\*|[*+]) *({LITERAL}))?")
WITH_UNIT = re.compile(rf"(?<![\w.])({LITERAL}) ?\*? ?(KiB|MiB|GiB|MIB|ms|s|min)\b|\b(kibi|mebi|gibi)bytes\(({LITERAL})\)")
COMMENT = re.compile(r"(?<!:)//[^\n]*|^\s*#(?!include|define)[^\n]*|(?<=  )# [^\n]*", re.M)
CONSTANT = re.compile(r"\b(?:constexpr|const|static)\b[^;=(){}]*?\b(\w+)\s*(?:=\s*([^;]+)|\{([^;{}]+)\}|\(([^;()]+)\));"
                      r"|^\s*(?:byte_size|std::[\w:]+|unsigned|int) (\w+) = ([^;]+);|^ *([A-Z][A-Z_]+) = ([^,\n]+)$", re.M)


def figures(cell: str) -> list[tuple[str, float, tuple[int, ...]]]:
    """Of a limit, as they are written, their values, and how far off a test may be: of a time it has to name the limit itself."""
    found = []
    for m in FIGURE.finditer(NO_FIGURE.sub("", cell)):
        number = float(m[1].replace(" ", "")) ** (int(m[2].translate(RAISED)) if m[2] else 1)
        found.append((m[0], number * UNITS.get(m[3] or "", 1), (0,) if m[3] in ("s", "min") else (-1, 0, 1)))
    return found


def number_of(literal: str) -> float:
    digits = re.sub("['_]", "", literal)
    return float(digits) if "." in digits else int(digits, 16 if digits.startswith("0x") else 10)


def values(text: str, constants: dict[str, set[float]]) -> set[float]:
    """Numbers in a piece of code: as they stand, with a unit, as a sum, product or power of two, and as constants that it names."""
    found = set()
    for m in TERM.finditer(text):
        a, b = number_of(m[1]), number_of(m[3] or "0")
        found |= {a, b} if m[2] else {a}
        if m[2] and b <= 64 or m[2] in ("*", "+"):
            found.add(a * 2 ** b if m[2] == "<<" else a ** b if m[2] == "**" else a * b if m[2] == "*" else a + b)
    for m in WITH_UNIT.finditer(text):
        unit = m[2] or m[3]
        found.add(number_of(m[1] or m[4]) * UNITS[UNITS_IN_CODE.get(unit, unit)])
    for name in set(re.findall(r"[A-Za-z_]\w+", text)):
        found |= constants.get(name, set())
    return found


def constants_in(text: str) -> dict[str, set[float]]:
    found = {}
    for m in CONSTANT.finditer(COMMENT.sub("", text)):
        name = m[1] or m[5] or m[7]
        found.setdefault(name, set()).update(values(next(g for g in (m[2], m[3], m[4], m[6], m[8]) if g), {}))
    return found


def constants_of(root: pathlib.Path, sources: list[str]) -> dict[str, set[float]]:
    """Of the sources of a row, and of the headers beside them."""
    found = {}
    for path in {(root / s).with_suffix(end) for s in sources for end in (".hpp", ".cpp")}:
        for name, its in constants_in(path.read_text() if path.is_file() else "").items():
            found.setdefault(name, set()).update(its)
    return found


def bodies(root: pathlib.Path, named: set[str]) -> dict[str, tuple[str, dict[str, set[float]]]]:
    """Of each test that is named: what it says, without comments, and the constants of its file."""
    found = {}
    for path in (root / "tests").rglob("*"):
        if path.suffix not in (".cpp", ".hpp", ".cu", ".py"):
            continue
        text, its = path.read_text(), {}
        if path.suffix != ".py":
            its = {f"{case[1]}.{case[2]}": text[case.end():text.find("\n}", case.end())] for case in CASE.finditer(text)}
        else:
            suite, parts = "", re.split(r"^(class |(?:    )?def )(\w+)", text, flags=re.M)[1:]
            for kind, word, body in zip(parts[::3], parts[1::3], parts[2::3]):
                suite = word if kind == "class " else suite
                its[f"{path.relative_to(root / 'tests').as_posix()} {suite}.{word}"] = body
        constants = constants_in(text) if named & its.keys() else {}
        found |= {test: (COMMENT.sub("", its[test]), constants) for test in named & its.keys()}
    return found


def unnamed(root: pathlib.Path, cells: list[str], said: dict[str, tuple[str, dict[str, set[float]]]]) -> list[str]:
    """The figures of a row's limit that none of its tests names."""
    of_sources, numbers = constants_of(root, words(cells[1])), set()
    for test in words(cells[4]):
        body, own = said.get(test, ("", {}))
        numbers |= values(body, {name: of_sources.get(name, set()) | own.get(name, set()) for name in of_sources.keys() | own.keys()})
    return [text for text, value, off in figures(cells[2]) if not any(value + d in numbers for d in off)]


def not_reached(root: pathlib.Path, limits: dict[str, tuple[str, str, list[str]]]) -> list[str]:
    """`limits`: of each row of the table, its place, its limit, and the figures that no test names."""
    table = rows(root, NOT_REACHED)
    if table and table[0][1] != COLUMNS_NOT_REACHED:
        return [f"docs/reliability.md: no table with the columns {', '.join(COLUMNS_NOT_REACHED)} under '{NOT_REACHED}'"]
    problems, told = [], set()
    for number, cells in table[1:]:
        row = f"docs/reliability.md:{number}"
        if len(cells) != len(COLUMNS_NOT_REACHED) or not all(cells) or cells[0] not in limits:
            problems.append(f"{row}: it has three cells, of which the first is that of a row of '{HEADING}'")
            continue
        _, limit, missing = limits[cells[0]]
        for figure in (f.strip() for f in cells[1].split(";")):
            told.add((cells[0], figure))
            if figure not in limit:
                problems.append(f"{row}: the limit of this row has no {figure}")
            elif figure not in missing:
                problems.append(f"{row}: a test names {figure}: it is reached")
    return problems + [f"{place}: none of its tests names {figure}" for what, (place, _, missing) in limits.items()
                       for figure in missing if (what, figure) not in told]


def tests_of(root: pathlib.Path) -> dict[str, str]:
    """`suite.case` of every GoogleTest, `file.py Class.test_case` of every system test, `fuzz NAME` of every fuzz target, and
    what is wrong with it: "" if it runs and expects something."""
    found = {}
    builds = "\n".join(p.read_text() for p in sorted((root / "tests").rglob("CMakeLists.txt")))
    names = set(re.findall(r"[\w./-]+", builds))
    script = (root / "run").read_text() if (root / "run").is_file() else ""
    for path in (root / "tests").rglob("*"):
        if path.suffix in (".cpp", ".hpp", ".cu"):
            text = path.read_text()
            runs = path.suffix == ".hpp" or any(n.rsplit("/", 1)[-1] == path.name for n in names)
            for case in CASE.finditer(text):
                body = text[case.end():text.find("\n}", case.end())]
                found[f"{case[1]}.{case[2]}"] = "" if runs and EXPECTS.search(body) else "expects nothing" if runs else "is in no program"
        elif path.suffix == ".py":
            name, text = path.relative_to(root / "tests").as_posix(), path.read_text()
            runs = path.stem in names or path.name in names or f"tests/{name}" in script
            suite, parts = "", re.split(r"^(class |(?:    )?def )(\w+)", text, flags=re.M)[1:]
            functions = list(zip(parts[::3], parts[1::3], parts[2::3]))
            expect = expecting([(word, body) for kind, word, body in functions if kind != "class "])
            for kind, word, _ in functions:
                suite = word if kind == "class " else suite
                found[f"{name} {suite}.{word}"] = "is run by nothing" if not runs else "" if word in expect else "expects nothing"
        if path.name.endswith("_fuzz.cpp"):
            found["fuzz " + path.name.removesuffix("_fuzz.cpp")] = ""
    return found


def check(root: pathlib.Path) -> list[str]:
    table = rows(root)
    if not table or table[0][1] != COLUMNS:
        return [f"docs/reliability.md: no table with the columns {', '.join(COLUMNS)} under '{HEADING}'"]
    problems, tests = [], tests_of(root)
    read_in, named, limits, said = set(), set(), {}, bodies(root, {test for _, cells in table[1:] for test in words(cells[-1])})
    for number, cells in table[1:]:
        row = f"docs/reliability.md:{number}"
        if len(cells) != len(COLUMNS) or not all(cells):
            problems.append(f"{row}: a row has {len(COLUMNS)} cells, and none is empty")
            continue
        sources, of_row = words(cells[1]), words(cells[4])
        read_in |= set(sources)
        named |= set(of_row)
        problems += [f"{row}: there is no {s}" for s in sources if not (root / s).is_file()]
        problems += [f"{row}: there is no test {t}" for t in of_row if t not in tests]
        problems += [f"{row}: the test {t} {tests[t]}" for t in of_row if tests.get(t)]
        if not sources or not of_row:
            problems.append(f"{row}: a row names at least one source and one test")
        limits[cells[0]] = row, cells[2], unnamed(root, cells, said)
    problems += not_reached(root, limits)
    problems += [f"{s}: it reads what comes from outside, and stands in no row of docs/reliability.md, '{HEADING}'"
                 for s in readers(root) if s not in read_in]
    problems += [f"tests/fuzz/targets/{t.removeprefix('fuzz ')}_fuzz.cpp: no row of docs/reliability.md, '{HEADING}', names `{t}`"
                 for t in sorted(tests) if t.startswith("fuzz ") and t not in named]
    return problems


SPELLINGS = ("folder.open(name, O_RDONLY, error)", "folder_->open(name,\n O_RDWR, e)", "read_all(file.get(), 0, to)",
             "zmq_msg_recv(&m, s, 0)", "zmq_recv(s, to, n, 0)", "socket.recv(m)", "recvfrom(s, b, n, 0, a, l)", "::recvmsg(s, &m, 0)",
             "std::fopen(path, \"r\")", "fopen(path, \"rb+\")", "popen(command, \"r\")", "::mmap(nullptr, n, PROT_READ, MAP_SHARED, file, 0)",
             "mmap(0, n, PROT_READ,\n MAP_PRIVATE, f, 0)", "std::ifstream in(path);", "std :: ifstream in".replace(" :: ", "::"), "std::wifstream in",
             "std::basic_ifstream<char> in", "std::fstream both(path)", "std::filebuf b;", "std::cin >> x", "::read(0, b, n)", "::pread(f, b, n, 0)",
             "preadv2(f, v, 1, 0, 0)", "fread(b, 1, n, f)", "fgets(b, n, f)", "opendir(path)", "std::filesystem::recursive_directory_iterator(p)",
             "secure_getenv(\"X\")", "::readlink(p, b, n)", "socket.async_read_some(b, f)", "stdin", "STDIN_FILENO")
NO_READS = ("::mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)", "std::fopen(path, \"we\")", "std::ofstream out(path)",
            "write_all(file, 0, b)", "::open(path, O_WRONLY)", "spread_steps(x)", "thread(x)", "bool store_file::read(std::uint64_t at)")


def self_test() -> list[str]:
    """Builds a small bad tree and expects each problem to be found, and nothing else."""
    tree = {
        "docs/reliability.md": f"## Before\n| what |\n{HEADING}\n\n| {' | '.join(COLUMNS)} |\n| --- |\n"
                               "| a | `transport/a.cpp` | any | 2 | `some.case`, `system/s.py S.test_it`, `fuzz a` |\n"
                               "| b | `transport/gone.cpp` | any | 2 | `some.other` |\n"
                               "| c | `config/parser.hpp` | any | | `some.case` |\n"
                               "| d | by hand | any | 2 | none |\n"
                               "| e | `transport/a.cpp` | any | 2 | `some.nothing`, `lost.case`, `system/t.py T.test_it`, `system/s.py S.test_no` |\n"
                               "| f | `transport/f.cpp` | 64 KiB a frame; 16 lines; 10 s; 2¹⁰ of `x9`; 4 194 304 blocks | 2 | `border.both` |\n"
                               "| g | `transport/f.cpp` | 3 a day; 100 MiB; 5 min, IPv4; 7 of all | 2 | `border.comment`, `system/s.py S.test_wide` |\n"
                               "| h | `transport/f.cpp` | 128 lanes; 90 s; 11 s | 2 | `border.both` |\n"
                               f"{NOT_REACHED}\n| {' | '.join(COLUMNS_NOT_REACHED)} |\n| --- |\n| h | 90 s | a test would wait |\n"
                               "| g | 100 MiB | it is long |\n| f | 10 s; 11 s | why |\n| z | 1 | why |\n"
                               "## Behind\n| no | row |\n",
        "transport/a.cpp": "const auto in = open_input(path);",
        "transport/f.cpp": "",
        "transport/f.hpp": "inline constexpr std::size_t most_lanes = 64; // 128 once\nstatic constexpr std::uint64_t most_blocks = std::uint64_t{1} << 22;",
        "tests/f.cpp": "constexpr int lines = 17;\nTEST(border, both) {\n  EXPECT_EQ(frame((64 << 10) + 1), lines);\n"
                       "  EXPECT_EQ(most_lanes + 10s + 1'024U, spool::most_blocks);\n}\n"
                       "TEST(border, comment) {\n  EXPECT_TRUE(x()); // 3\n  EXPECT_TRUE(y(8, 50 + 50));\n}\n",
        "transport/writer.cpp": "::open(path, O_WRONLY | O_CREAT);",
        "transport/new.cpp": "x(::open(path.c_str(),\n  O_RDONLY));",
        **{f"tools/reads{n}.cpp": text for n, text in enumerate(SPELLINGS)},
        **{f"tools/writes{n}.cpp": text for n, text in enumerate(NO_READS)},
        "transport/system/input_file.hpp": "::open(path.c_str(), O_RDONLY)",
        "daemon/socket.cpp": "socket_.recv(head)",
        "tests/a.cpp": "TEST(some, case) {\n  EXPECT_TRUE(x());\n}\nTEST(some, nothing) {\n  x();\n}\n",
        "tests/lost.cpp": "TEST(lost, case) {\n  EXPECT_TRUE(x());\n}\n",
        "tests/CMakeLists.txt": "l3_test(a_test SOURCES a.cpp f.cpp)\nforeach(name IN ITEMS s)",
        "tests/system/s.py": "class S:\n    def test_it(self):\n        self.assertTrue(x)\n    def test_no(self):\n        x()\n"
                             "    def test_wide(self):\n        self.assertTrue(y(LIMIT))  # 3\nLIMIT = 100 * MIB\n",
        "tests/system/t.py": "class T:\n    def test_it(self):\n        self.assertTrue(x)\n",
        "tests/fuzz/targets/a_fuzz.cpp": "", "tests/fuzz/targets/b_fuzz.cpp": "",
    }
    expected = [*(f"tools/reads{n}.cpp: it reads" for n in range(len(SPELLINGS))),
                "docs/reliability.md:8: there is no transport/gone.cpp", "docs/reliability.md:8: there is no test some.other",
                "docs/reliability.md:9: a row has", "docs/reliability.md:10: a row names", "docs/reliability.md:11: the test some.nothing expects nothing",
                "docs/reliability.md:11: the test lost.case is in no program", "docs/reliability.md:11: the test system/t.py T.test_it is run by nothing",
                "docs/reliability.md:11: the test system/s.py S.test_no expects nothing", "transport/new.cpp: it reads",
                "daemon/socket.cpp: it reads", "docs/reliability.md:13: none of its tests names 3",
                "docs/reliability.md:13: none of its tests names 5 min", "docs/reliability.md:14: none of its tests names 128",
                "docs/reliability.md:14: none of its tests names 11 s",
                "docs/reliability.md:19: a test names 100 MiB", "docs/reliability.md:20: a test names 10 s",
                "docs/reliability.md:20: the limit of this row has no 11 s", "docs/reliability.md:21: it has three cells", "tests/fuzz/targets/b_fuzz.cpp: no row"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = check(root)
        (root / "docs/reliability.md").write_text(HEADING)
        if not check(root):
            found.append("a page without the table")
    wrong = [f"not found: {e}" for e in expected if not any(f.startswith(e) for f in found)]
    return wrong + [f"not wrong: {f}" for f in found if not any(f.startswith(e) for e in expected)]


if __name__ == "__main__":
    result = self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1]))
    print("\n".join(result) or "ok")
    sys.exit(1 if result else 0)
