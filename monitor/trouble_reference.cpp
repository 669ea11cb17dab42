// SPDX-License-Identifier: Apache-2.0
#include "monitor/trouble_reference.hpp"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace l3 {
namespace {

std::string_view first_sentence(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

std::string sentence(std::string_view text, std::string_view end = ".") {
  std::string s(text);
  s[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(s[0])));
  return s.ends_with('.') ? s : s.append(end);
}

/// For a text in double quotes.
std::string in_quotes(std::string_view text) {
  std::string q;
  for (const char c : text) q += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
  return q;
}

/// Calls `write` with the name of each severity that the row has, and the duration until its alert.
template <class Write>
void each_severity(const trouble_row& row, const Write& write) {
  if (!row.critical_for.empty()) write("critical", row.critical_for);
  if (!row.warning_for.empty()) write("warning", row.warning_for);
}

/// "2m" in seconds.
int seconds_of(std::string_view duration) {
  int n = 0;
  std::from_chars(duration.data(), duration.data() + duration.size(), n);
  return duration.ends_with('m') ? 60 * n : n;
}

std::string after(std::string_view duration) {
  return duration == "0s" ? "at once" : fmt::format("after {}", duration);
}

std::string summary_of(const trouble_row& row, std::string_view instance, std::string_view lost,
                       std::string_view names) {
  std::string text = fmt::format("{}: {}", instance, first_sentence(row.meaning));
  if (!row.named_by.empty()) text += fmt::format(" Named:{}.", names);
  if (row.counts && !lost.empty()) text += fmt::format(" Lost so far: {} events.", lost);
  return text;
}

/// A part of an annotation that asks for the numbers of this instance.
std::string query_of(std::string_view query, std::string_view shown) {
  return fmt::format("{{{{ range printf `{}` $labels.instance | query }}}}{}{{{{ end }}}}", query,
                     shown);
}

std::string action_of(const trouble_row& row) {
  return fmt::format("{} Who acts: {}.", sentence(row.action), row.who);
}

/// Breaks paragraphs at 100 columns; the rows of tables stay whole.
std::string wrapped(std::string_view text) {
  constexpr std::size_t columns = 100;
  std::string all;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::string indent = line.starts_with("* ") ? "  " : "";
    std::size_t width = 0;
    std::istringstream words(line.starts_with('|') ? "" : line);
    if (line.starts_with('|')) all += line;
    for (std::string word; words >> word;) {
      std::size_t length = 0; // in characters
      for (const char c : word) length += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
      if (width != 0 && width + 1 + length > columns) {
        all += "\n" + indent;
        width = indent.size();
      } else if (width != 0) {
        all += ' ';
        ++width;
      }
      all += word;
      width += length;
    }
    all += '\n';
  }
  return all;
}

} // namespace

std::string alert_of(const trouble_row& row) {
  std::string name = "KotoL3";
  bool begins = true;
  for (const char c : row.name) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '_';
  }
  return name;
}

std::string alert_rules(const trouble_table& t) {
  std::string text;
  for (const trouble_row& row : t.rows)
    each_severity(row, [&](std::string_view severity, std::string_view duration) {
      const std::string lost =
          t.events.empty()
              ? ""
              : query_of(fmt::format("{}{{name='{}',instance='%s'}}", t.events, row.name),
                         "{{ . | value }}");
      const std::string names =
          row.named_by.empty() ? ""
                               : query_of(fmt::format("{}{{instance='%s'}} == 1", row.named_by),
                                          fmt::format(" {0} {{{{ .Labels.{0} }}}}", row.label));
      text +=
          fmt::format(R"(
      - alert: {}
        expr: {}{{name="{}",severity="{}"}} == 1
{}        labels: {{severity: {}}}
        annotations:
          summary: "{}"
          action: "{}"
          runbook_url: "http://{{{{ $labels.instance }}}}/runbook#{}"
)",
                      alert_of(row), t.metric, row.name, severity,
                      duration == "0s" ? "" : fmt::format("        for: {}\n", duration), severity,
                      in_quotes(summary_of(row, "{{ $labels.instance }}", lost, names)),
                      in_quotes(action_of(row)), row.name);
    });
  return text;
}

std::string alert_tests(const trouble_table& t) {
  std::string text;
  for (const trouble_row& row : t.rows)
    each_severity(row, [&](std::string_view severity, std::string_view duration) {
      text += fmt::format(R"(
  - name: {0}, {1}, {2}
    interval: 5s
    input_series:
      - {{series: '{3}{{instance="n", name="{0}", severity="{1}"}}', values: 0 1x200}}
)",
                          row.name, severity, after(duration), t.metric);
      if (row.counts && !t.events.empty())
        text += fmt::format(
            "      - {{series: '{}{{instance=\"n\", name=\"{}\"}}', values: 0 7x200}}\n", t.events,
            row.name);
      if (!row.named_by.empty())
        text +=
            fmt::format("      - {{series: '{0}{{instance=\"n\", {1}=\"7\"}}', values: 1x200}}\n"
                        "      - {{series: '{0}{{instance=\"n\", {1}=\"8\"}}', values: 0x200}}\n",
                        row.named_by, row.label);
      text += fmt::format(
          R"(    alert_rule_test:
      - {{alertname: {0}, eval_time: {1}s}}
      - alertname: {0}
        eval_time: {2}s
        exp_alerts:
          - exp_labels: {{severity: {3}, instance: "n", name: {4}}}
            exp_annotations:
              summary: "{5}"
              action: "{6}"
              runbook_url: "http://n/runbook#{4}"
)",
          alert_of(row), seconds_of(duration), seconds_of(duration) + 5, severity, row.name,
          in_quotes(summary_of(row, "n", t.events.empty() ? "" : "7",
                               row.named_by.empty() ? "" : fmt::format(" {} 7", row.label))),
          in_quotes(action_of(row)));
    });
  return text;
}

std::string runbook_sections(const trouble_table& t) {
  std::string text;
  for (const trouble_row& row : t.rows) {
    std::string alerts;
    each_severity(row, [&](std::string_view severity, std::string_view duration) {
      alerts += fmt::format("{}{} {}", alerts.empty() ? "" : ", ", severity, after(duration));
    });
    alerts = alerts.empty() ? "Never an alarm" : fmt::format("`{}`: {}", alert_of(row), alerts);
    text += fmt::format("\n### {}\n{}\n{}", row.name, wrapped(row.meaning),
                        wrapped(fmt::format("**Do:** {} *{} acts. {}.*", sentence(row.action),
                                            sentence(row.who, ""), alerts)));
  }
  return text;
}

int print_with_troubles(const trouble_table& t, std::string_view what, const char* file) {
  const std::string part = what == "alerts"        ? alert_rules(t)
                           : what == "alerts-test" ? alert_tests(t)
                                                   : runbook_sections(t);
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find(fmt::format("begin: {}", t.program));
  const std::size_t end = text.find(fmt::format("end: {}", t.program));
  if (begin == text.npos || end == text.npos || end < begin) {
    std::fprintf(stderr, "%s has no part of %s\n", file, std::string(t.program).c_str());
    return 1;
  }
  const std::size_t from = text.find('\n', begin) + 1;
  const std::size_t to = text.rfind('\n', end) + 1;
  std::fputs((text.substr(0, from) + part + "\n" + text.substr(to)).c_str(), stdout);
  return 0;
}

} // namespace l3
