// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/rehearsal/rehearsal.hpp"

namespace l3::bench {
namespace {

namespace json = boost::json;

/// Four digits, with a prefix for few digits before the point.
std::string number(double x) {
  const double size = std::abs(x);
  constexpr double kilo = 1e3, mega = 1e6, giga = 1e9;
  constexpr double exact = 1e4; // smaller counts are shown exactly
  if (size >= giga) return fmt::format("{:.2f} G", x / giga);
  if (size >= mega) return fmt::format("{:.2f} M", x / mega);
  if (size >= exact) return fmt::format("{:.2f} k", x / kilo);
  return fmt::format("{:.4g}", x);
}

std::string shown(const json::value& v) {
  if (v.is_null()) return "not measured";
  if (v.is_bool()) return v.as_bool() ? "yes" : "NO";
  if (v.is_number()) return number(v.to_number<double>());
  if (v.is_string()) return std::string(v.as_string());
  if (!v.is_array()) return json::serialize(v);
  if (v.as_array().empty()) return "none";
  std::string all;
  for (const json::value& one : v.as_array()) all += (all.empty() ? "" : ", ") + shown(one);
  return all;
}

std::string words(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return text;
}

using fields = std::vector<std::pair<std::string, std::string>>;

/// Quartiles are shown in brackets behind the previous value; nested values get the names of their
/// parents.
void add_fields(fields& to, const std::string& before, const json::object& from) {
  for (const auto& [key, value] : from) {
    const std::string name = before + words(key);
    if (value.is_object()) {
      add_fields(to, name + ", ", value.as_object());
    } else if (key == "low_quartile" && !to.empty()) {
      to.back().second += " (" + shown(value);
    } else if (key == "high_quartile" && !to.empty()) {
      to.back().second += " … " + shown(value) + ")";
    } else {
      to.emplace_back(name, shown(value));
    }
  }
}

/// Counts characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

bool is_table(const json::value& v) {
  return v.is_array() && !v.as_array().empty() &&
         std::ranges::all_of(v.as_array(), [](const json::value& r) { return r.is_object(); });
}

std::string table(const json::array& rows) {
  std::vector<fields> lines;
  for (const json::value& r : rows) add_fields(lines.emplace_back(), "", r.as_object());
  std::vector<std::string> names;
  std::vector<std::size_t> widths;
  for (const fields& line : lines) {
    for (const auto& [name, value] : line) {
      const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
      if (at == names.size()) {
        names.push_back(name);
        widths.push_back(width(name));
      }
      widths[at] = std::max(widths[at], width(value));
    }
  }
  std::string text;
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string value = cell(names[i]);
      line += value + std::string(widths[i] - width(value) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([](const std::string& name) { return name; });
  for (const fields& line : lines) {
    add_line([&](const std::string& name) {
      const auto found = std::ranges::find(line, name, &fields::value_type::first);
      return found == line.end() ? std::string() : found->second;
    });
  }
  return text;
}

} // namespace

json::object report_of(std::string_view bench) {
  return {{"bench", bench}, {"processor", processor_name()}};
}

json::object rated(json::object row, std::string_view rate, double amount, const timing& t) {
  row[rate] = amount / t.median;
  row["low_quartile"] = amount / t.high;
  row["high_quartile"] = amount / t.low;
  row["right"] = t.right;
  if (t.warp_instructions != 0) row["warp_instructions"] = static_cast<double>(t.warp_instructions);
  return row;
}

std::string report_table(const json::object& report) {
  fields alone;
  json::object flat;
  std::string tables;
  for (const auto& [key, value] : report) {
    if (is_table(value)) {
      tables += "\n" + table(value.as_array());
    } else {
      flat[key] = value;
    }
  }
  add_fields(alone, "", flat);
  std::string text;
  for (const auto& [name, value] : alone) text.append(name).append(": ").append(value).append("\n");
  return text + tables;
}

std::string report_table(std::string_view text) {
  boost::system::error_code error;
  const json::value report = json::parse(text, error);
  if (error || !report.is_object()) throw std::runtime_error("is no report of a bench");
  return report_table(report.as_object());
}

int print_report(const json::object& report, bool as_json, bool right) {
  std::fputs((as_json ? json::serialize(report) + "\n" : report_table(report)).c_str(), stdout);
  std::fflush(stdout);
  return right ? 0 : exit_failure;
}

} // namespace l3::bench
