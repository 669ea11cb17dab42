#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the table of docs/reliability.md that bounds what comes from outside: each source that reads it, and each fuzz target,
stands in a row, and each source, test and fuzz target that a row names exists; the test runs, and expects something. A source reads what comes from outside if it
calls one of READS. `--self-test` shows that each check can fail."""
import pathlib
import re
import sys
import tempfile

ROOMS = ["config", "daemon", "gpu", "monitor", "selection", "tools", "transport"]
HEADING = "## What comes from outside"
COLUMNS = ["what", "read in", "limit", "beyond it", "tests"]
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


def rows(root: pathlib.Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells."""
    table, inside = [], False
    for number, line in enumerate((root / "docs/reliability.md").read_text().splitlines(), 1):
        if line.startswith("## "):
            inside = line == HEADING
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
    read_in, named = set(), set()
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
                               "| a | `transport/a.cpp` | 1 | 2 | `some.case`, `system/s.py S.test_it`, `fuzz a` |\n"
                               "| b | `transport/gone.cpp` | 1 | 2 | `some.other` |\n"
                               "| c | `config/parser.hpp` | 1 | | `some.case` |\n"
                               "| d | by hand | 1 | 2 | none |\n"
                               "| e | `transport/a.cpp` | 1 | 2 | `some.nothing`, `lost.case`, `system/t.py T.test_it`, `system/s.py S.test_no` |\n"
                               "## Behind\n| no | row |\n",
        "transport/a.cpp": "const auto in = open_input(path);",
        "transport/writer.cpp": "::open(path, O_WRONLY | O_CREAT);",
        "transport/new.cpp": "x(::open(path.c_str(),\n  O_RDONLY));",
        **{f"tools/reads{n}.cpp": text for n, text in enumerate(SPELLINGS)},
        **{f"tools/writes{n}.cpp": text for n, text in enumerate(NO_READS)},
        "transport/system/input_file.hpp": "::open(path.c_str(), O_RDONLY)",
        "daemon/socket.cpp": "socket_.recv(head)",
        "tests/a.cpp": "TEST(some, case) {\n  EXPECT_TRUE(x());\n}\nTEST(some, nothing) {\n  x();\n}\n",
        "tests/lost.cpp": "TEST(lost, case) {\n  EXPECT_TRUE(x());\n}\n",
        "tests/CMakeLists.txt": "l3_test(a_test SOURCES a.cpp)\nforeach(name IN ITEMS s)",
        "tests/system/s.py": "class S:\n    def test_it(self):\n        self.assertTrue(x)\n    def test_no(self):\n        x()\n",
        "tests/system/t.py": "class T:\n    def test_it(self):\n        self.assertTrue(x)\n",
        "tests/fuzz/targets/a_fuzz.cpp": "", "tests/fuzz/targets/b_fuzz.cpp": "",
    }
    expected = [*(f"tools/reads{n}.cpp: it reads" for n in range(len(SPELLINGS))),
                "docs/reliability.md:8: there is no transport/gone.cpp", "docs/reliability.md:8: there is no test some.other",
                "docs/reliability.md:9: a row has", "docs/reliability.md:10: a row names", "docs/reliability.md:11: the test some.nothing expects nothing",
                "docs/reliability.md:11: the test lost.case is in no program", "docs/reliability.md:11: the test system/t.py T.test_it is run by nothing",
                "docs/reliability.md:11: the test system/s.py S.test_no expects nothing", "transport/new.cpp: it reads",
                "daemon/socket.cpp: it reads", "tests/fuzz/targets/b_fuzz.cpp: no row"]
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
