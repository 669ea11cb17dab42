#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one part of deploy/ with the tools that will read it: deploy_test.py PART DEPLOY_FOLDER SAMPLE_METRICS_PROGRAM.

Exit code 77 means skipped: a tool is not installed.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
OPEN = 8  # panels of a dashboard
DASHBOARDS = {"dashboard.json": "koto-l3", "dashboard-farm.json": "koto-l3-farm"}  # and their uids
# Facts, and sums of what is shown by label or as a degraded reason.
NOT_SHOWN = {"koto_l3_build_info", "koto_l3_backend_info", "koto_l3_start_time_seconds", "koto_l3_uptime_seconds", "koto_l3_state", "koto_l3_reloads_total",
             "koto_l3_last_run_crashed", "koto_l3_last_run_lost_events", "koto_l3_fragments_seen_total", "koto_l3_spills_total", "koto_l3_engine_bypassed",
             "koto_l3_devices_left_out", "koto_l3_batches_dumped_total", "koto_l3_batches_not_dumped_total", "koto_l3_ended_run_lost_events",
             "koto_l3_fragments_conflicting_total", "koto_l3_trouble_events"}
# What exposure `systemd-analyze security` may find, in tenths.
EXPOSURE_LIMIT = 19
EXPOSURE_LIMIT_WITHOUT_GPU = 15


def need(tool, package):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is not installed (package {package})")
        sys.exit(SKIPPED)


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}"
    return result


def exported_names(sample_program):
    """Every series name of a scrape, without labels."""
    lines = run(sample_program).stdout.splitlines()
    return {re.match(r"\w+", line).group() for line in lines if line and not line.startswith("#")}


def assert_exported(expression, names):
    for name in re.findall(r"\b(?:koto_l3|process)_\w+", expression):
        assert name in names, f"no daemon exports {name}, used in: {expression}"


def assert_promql(expressions):
    """promtool parses expressions where rules are: make each a rule."""
    rules = [{"record": f"parsed:{i}", "expr": e} for i, e in enumerate(expressions)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "parsed", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        run("promtool", "check", "rules", file.name)


def check_unit(deploy, _):
    need("systemd-analyze", "systemd")
    for name, command in (("koto-l3d", "koto-l3d --config /etc/koto-l3/l3.toml"),
                          ("koto-l3-receive", "koto-l3 receive --config /etc/koto-l3/receive.toml")):
        unit = (deploy / f"{name}.service").read_text()
        assert f"ExecStart=/usr/bin/{command}\n" in unit
        with tempfile.TemporaryDirectory() as folder:
            # The program may not be installed here; everything else is checked as it is.
            copy = pathlib.Path(folder) / f"{name}.service"
            copy.write_text(unit.replace("/usr/bin/koto-l3d", "/bin/true").replace("/usr/bin/koto-l3", "/bin/true"))
            result = run("systemd-analyze", "verify", "--man=no", copy)
            complaints = [line for line in result.stderr.splitlines() if name in line]
            assert not complaints, "\n".join(complaints)
            run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_LIMIT}", copy)
            if name == "koto-l3d":
                _, _, tighter = (deploy / "koto-l3d-without-gpu.conf").read_text().partition("[Service]\n")
                copy.write_text(copy.read_text().replace("[Install]", tighter + "[Install]"))
                run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_LIMIT_WITHOUT_GPU}", copy)


def check_prometheus(deploy, _):
    need("promtool", "prometheus")
    run("promtool", "check", "config", deploy / "prometheus.yml")
    need("amtool", "prometheus-alertmanager")
    run("amtool", "check-config", deploy / "alertmanager.yml")


def check_alerts(deploy, sample_program):
    need("promtool", "prometheus")
    run("promtool", "check", "rules", deploy / "alerts.yml")
    run("promtool", "test", "rules", deploy / "alerts_test.yml")

    rules = re.split(r"^ +- alert: ", (deploy / "alerts.yml").read_text(), flags=re.M)[1:]
    cases = (deploy / "alerts_test.yml").read_text()
    names = exported_names(sample_program)
    assert rules
    for rule in rules:
        alert = rule.split("\n", 1)[0]
        for part in ("summary:", "action:", "runbook_url:", "severity:"):
            assert part in rule, f"{alert} has no {part[:-1]}"
        assert_exported(re.search(r"expr: .*?\n +(for|labels):", rule, re.S).group(), names)
        assert re.search(rf"alertname: {alert}\n +eval_time: .*\n +exp_alerts:", cases), f"no case fires {alert}"
        assert re.search(rf"{{alertname: {alert}, eval_time: .*}}", cases), f"no case of {alert} just does not fire"


def check_dashboard(deploy, sample_program):
    need("promtool", "prometheus")
    names = exported_names(sample_program)
    assert {p.name for p in deploy.glob("dashboard*.json")} == DASHBOARDS.keys()
    shown = {name: check_one_dashboard(deploy / name, uid, names) for name, uid in DASHBOARDS.items()}
    of_the_daemon = {n for n in names if n.startswith("koto_l3_") and not n.startswith("koto_l3_receive_")}
    forgotten = {n for n in of_the_daemon - shown["dashboard.json"] - NOT_SHOWN if not re.search("_(count|sum)$", n)}
    assert not forgotten, f"no panel shows {', '.join(sorted(forgotten))}"
    of_nodes = {n for n in names if n.startswith("koto_l3_receive_daemon_")}
    assert of_nodes <= shown["dashboard-farm.json"], f"no panel of the farm shows {', '.join(sorted(of_nodes - shown['dashboard-farm.json']))}"


def check_one_dashboard(file, uid, names):
    """What its panels show."""
    dashboard = json.loads(file.read_text())
    assert dashboard["uid"] == uid
    assert "__inputs" not in dashboard and "id" not in dashboard, "exported for sharing, not for provisioning"
    variables = {v["name"]: v for v in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"

    (runs,) = dashboard["annotations"]["list"]
    expressions = [runs["expr"]]
    rows = [p for p in dashboard["panels"] if p["type"] == "row"]
    open_ones = [p for p in dashboard["panels"] if p["type"] != "row"]
    assert len(open_ones) == OPEN and all(r["collapsed"] and r["panels"] for r in rows), "a glance shows few panels, and the rest waits in closed rows"
    panels = open_ones + [p for r in rows for p in r["panels"]]
    assert len({p["id"] for p in panels + rows}) == len(panels + rows), "two panels have the same id"
    for panel in open_ones:
        linked = [link["url"] for link in panel["fieldConfig"]["defaults"].get("links", [])]
        assert panel["type"] in ("stat", "table") or linked and "/runbook" in linked[0], f"{panel['title']} has no link to the runbook"
    for panel in panels:
        title = panel["title"]
        assert panel["fieldConfig"]["defaults"].get("unit"), f"{title} has no unit"
        assert panel["description"], f"{title} has no description"
        assert panel["targets"], f"{title} shows nothing"
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == panel["datasource"]["uid"] == "${datasource}", title
            expressions.append(target["expr"])
    for expression in expressions:
        assert_exported(expression, names)
        for variable in re.findall(r"\$(\w+)", expression):
            assert variable == "__rate_interval" or variable in variables, f"${variable} is not defined"
    for variable in ("node", "receiver"):
        assert_exported(variables[variable]["definition"], names)
    assert_promql([e.replace("$__rate_interval", "1m").replace("$node", "n").replace("$receiver", "r") for e in expressions])
    return set(re.findall(r"\b(?:koto_l3|process)_\w+", " ".join(expressions)))


def check_runbook(deploy, sample_program):
    """Who is woken by a name finds it there."""
    page = (deploy.parent / "docs" / "runbook.md").read_text()
    reasons = set(re.findall(r'^koto_l3_trouble{name="(\w+)"', run(sample_program).stdout, re.M))
    alerts = re.findall(r"^ +- alert: (\w+)", (deploy / "alerts.yml").read_text(), re.M)
    assert reasons and alerts
    for reason in reasons:
        assert f"\n### {reason}\n" in page, f"docs/runbook.md has no section '### {reason}'"
    for alert in alerts:
        assert f"`{alert}`" in page, f"docs/runbook.md does not name {alert}"
    for alert in re.findall(r"^\| `(KotoL3\w+)`", page, re.M):
        assert alert in alerts, f"docs/runbook.md has {alert}, which deploy/alerts.yml has not"
    texts = texts_of(deploy.parent)
    lines = re.findall(r"^\| (`(?!KotoL3).*?) \|", page.partition("## Log lines")[2], re.M)
    assert len(lines) > 30
    for line in re.findall(r"`([^`]+)`", " ".join(lines)):
        for words in re.split(r"[…:(),]|\b[A-Z]+\b|\b\w+\.\w+\b|\d+ / | / ", line):
            assert words.strip() in texts, f"docs/runbook.md has '{line}', and no program says '{words.strip()}'"


# A library of cmake/dependencies.cmake, as Spack calls it. Tests and what only they need are not built by
# the recipe, nor some codecs that koto-l3-bench compares with.
SPACK_NAMES = {"Boost": "boost", "CLI11": "cli11", "libhwy": "highway", "libzmq": "libzmq",
               "liblz4": "lz4", "libzstd": "zstd", "PkgConfig": "pkgconfig"}
NOT_IN_SPACK = {"GTest", "rapidcheck", "liblzma"}


def check_spack(deploy, _):
    """The recipe names each library that the build looks for, and no option that the build lacks. Spack itself is not asked."""
    recipe = (deploy / "spack/package.py").read_text()
    needed = set(re.findall(r'depends_on\("([\w-]+)', recipe))
    cmake = (deploy.parent / "cmake/dependencies.cmake").read_text()
    looked_for = set(re.findall(r"find_package\(([\w-]+)", cmake)) | set(re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET (\w+)\)", cmake))
    missing = {SPACK_NAMES.get(name, name) for name in looked_for - NOT_IN_SPACK} - needed
    assert not missing, f"deploy/spack/package.py lacks {', '.join(sorted(missing))}"
    unknown = set(re.findall(r"L3_\w+", recipe)) - set(re.findall(r"^(?:set|option)\((L3_\w+)", (deploy.parent / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert not unknown, f"CMakeLists.txt has no option {', '.join(sorted(unknown))}"


def texts_of(root):
    """What the programs can say: all sources, where a text that goes over several lines is one."""
    files = [path for room in ("daemon", "receiver", "monitor", "tools", "transport", "selection", "config", "gpu") for path in sorted((root / room).rglob("*.[ch]pp"))]
    return re.sub(r'"\s*"', "", "\n".join(path.read_text() for path in files)).replace('\\"', '"')


def main():
    part, deploy, sample_program = sys.argv[1:]
    checks = {"unit": check_unit, "prometheus": check_prometheus, "alerts": check_alerts, "dashboard": check_dashboard,
              "runbook": check_runbook, "spack": check_spack}
    try:
        checks[part](pathlib.Path(deploy), sample_program)
    except AssertionError as error:
        print(error)
        sys.exit(1)


main()
