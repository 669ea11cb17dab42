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
# What exposure `systemd-analyze security` may find, in tenths.
EXPOSURE_LIMIT = 20


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
    for name in re.findall(r"\bkoto_l3_\w+", expression):
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
    unit = (deploy / "koto-l3d.service").read_text()
    assert "ExecStart=/usr/bin/koto-l3d --config /etc/koto-l3/l3.toml" in unit
    with tempfile.TemporaryDirectory() as folder:
        # The program may not be installed here; everything else is checked as it is.
        copy = pathlib.Path(folder) / "koto-l3d.service"
        copy.write_text(unit.replace("/usr/bin/koto-l3d", "/bin/true"))
        result = run("systemd-analyze", "verify", "--man=no", copy)
        complaints = [line for line in result.stderr.splitlines() if "koto-l3d" in line]
        assert not complaints, "\n".join(complaints)
        run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_LIMIT}", copy)


def check_prometheus(deploy, _):
    need("promtool", "prometheus")
    run("promtool", "check", "config", deploy / "prometheus.yml")


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
        for part in ("summary:", "action:", "severity:"):
            assert part in rule, f"{alert} has no {part[:-1]}"
        assert_exported(re.search(r"expr: .*?\n +(for|labels):", rule, re.S).group(), names)
        assert re.search(rf"alertname: {alert}\n +eval_time: .*\n +exp_alerts:", cases), f"no case fires {alert}"
        assert re.search(rf"{{alertname: {alert}, eval_time: .*}}", cases), f"no case of {alert} just does not fire"


def check_dashboard(deploy, sample_program):
    need("promtool", "prometheus")
    dashboard = json.loads((deploy / "dashboard.json").read_text())
    assert dashboard["uid"] == "koto-l3"
    assert "__inputs" not in dashboard and "id" not in dashboard, "exported for sharing, not for provisioning"
    variables = {v["name"]: v for v in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"

    names = exported_names(sample_program)
    expressions = []
    panels = dashboard["panels"]
    assert len({p["id"] for p in panels}) == len(panels), "two panels have the same id"
    places = set()
    for panel in panels:
        title = panel["title"]
        assert panel["fieldConfig"]["defaults"].get("unit"), f"{title} has no unit"
        assert panel["description"], f"{title} has no description"
        assert panel["targets"], f"{title} shows nothing"
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, f"{title} covers another panel"
        places |= cells
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == panel["datasource"]["uid"] == "${datasource}", title
            expressions.append(target["expr"])
    for expression in expressions:
        assert_exported(expression, names)
        for variable in re.findall(r"\$(\w+)", expression):
            assert variable == "__rate_interval" or variable in variables, f"${variable} is not defined"
    assert_exported(variables["node"]["definition"], names)
    assert_promql([e.replace("$__rate_interval", "1m").replace("$node", "n") for e in expressions])


def check_runbook(deploy, sample_program):
    """Who is woken by a name finds it there."""
    page = (deploy.parent / "docs" / "runbook.md").read_text()
    reasons = re.findall(r'^koto_l3_degraded{reason="(\w+)"}', run(sample_program).stdout, re.M)
    alerts = re.findall(r"^ +- alert: (\w+)", (deploy / "alerts.yml").read_text(), re.M)
    assert reasons and alerts
    for reason in reasons:
        assert f"\n### {reason}\n" in page, f"docs/runbook.md has no section '### {reason}'"
    for alert in alerts:
        assert f"\n| `{alert}` |" in page, f"docs/runbook.md has no row `{alert}` among the alarms"
    for alert in re.findall(r"^\| `(KotoL3\w+)`", page, re.M):
        assert alert in alerts, f"docs/runbook.md has {alert}, which deploy/alerts.yml has not"
    texts = texts_of(deploy.parent)
    lines = re.findall(r"^\| (`(?!KotoL3).*?) \|", page.partition("## Log lines")[2], re.M)
    assert len(lines) > 30
    for line in re.findall(r"`([^`]+)`", " ".join(lines)):
        for words in re.split(r"[…:(),]|\b[A-Z]+\b|\b\w+\.\w+\b|\d+ / | / ", line):
            assert words.strip() in texts, f"docs/runbook.md has '{line}', and no program says '{words.strip()}'"


def texts_of(root):
    """What the programs can say: all sources, where a text that goes over several lines is one."""
    files = [path for room in ("daemon", "tools", "transport", "selection", "config") for path in sorted((root / room).rglob("*.[ch]pp"))]
    return re.sub(r'"\s*"', "", "\n".join(path.read_text() for path in files)).replace('\\"', '"')


def main():
    part, deploy, sample_program = sys.argv[1:]
    checks = {"unit": check_unit, "prometheus": check_prometheus, "alerts": check_alerts, "dashboard": check_dashboard,
              "runbook": check_runbook}
    try:
        checks[part](pathlib.Path(deploy), sample_program)
    except AssertionError as error:
        print(error)
        sys.exit(1)


main()
