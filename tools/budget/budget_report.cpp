// SPDX-License-Identifier: Apache-2.0
#include "tools/budget/budget_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/in_words.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr double mega = 1e6;

double percent(const budget& b, double bytes) { return 100 * bytes / b.link_bytes; }

std::string fills_text(const std::optional<double>& fills) {
  return fills ? fmt::format("{:.0f}", std::ceil(*fills)) : "-";
}

std::string verdict(const budget& b, const budget_sum& now) {
  const auto factor = filling_factor(b);
  if (!factor)
    return now.bytes <= b.link_bytes
               ? "the menu fits even without prescales\n"
               : "the lines without a prescale alone are more than the link carries\n";
  std::string text =
      fmt::format("prescales that fill the link ({:.3g} times those of the menu):", *factor);
  const auto menu = scaled(b, *factor);
  for (std::size_t n = 0; n < menu.size(); ++n)
    if (b.lines[n].prescale > 1) text += fmt::format(" {} {:.0f}", menu[n].name, menu[n].prescale);
  return text + '\n';
}

json::object sum_json(const budget& b, const budget_sum& s) {
  return {{"events", s.events}, {"bytes", s.bytes}, {"percent", percent(b, s.bytes)}};
}

json::object payloads_json(const budget& b, const std::array<budget_sum, event_payloads>& sums) {
  json::object all;
  for (std::size_t p = 0; p < event_payloads; ++p)
    all[name_of(static_cast<event_payload>(p))] = sum_json(b, sums[p]);
  return all;
}

json::array errors_json(const budget& b) {
  json::array all;
  for (const auto& [error, sum] : expected_by_error(b)) {
    json::object one = sum_json(b, sum);
    one["greatest_error"] = error;
    all.push_back(std::move(one));
  }
  return all;
}

/// "suppressed ±1"
std::string kept_text(const budget& b, const budget_line& line) {
  const std::uint32_t error = b.roundings[line.rounding];
  return fmt::format("{}{}", name_of(line.payload), error == 0 ? "" : fmt::format(" ±{}", error));
}

std::string table_of_lines(const budget& b) {
  std::string text = fmt::format("output.codec = \"{}\"\n", b.codec);
  text += fmt::format(
      "{:<16} {:>8} {:<13} {:>8} {:>8} {:>9} {:>7} | {:>7} {:>10} {:>8} {:>7} | {:>8}\n", "line",
      "prescale", "payload", "fired", "kept", "MB", "% link", "all", "suppressed", "features",
      "summary", "fills at");
  for (std::size_t n = 0; n < b.lines.size(); ++n) {
    const budget_line& line = b.lines[n];
    const line_cost c = cost_of(b, n);
    text += fmt::format("{:<16} {:>8.0f} {:<13} {:>8.0f} {:>8.0f} {:>9.2f} {:>7.2f} |", line.name,
                        line.prescale, kept_text(b, line), c.fired, c.now.events,
                        c.now.bytes / mega, percent(b, c.now.bytes));
    text +=
        fmt::format(" {:>7.2f} {:>10.2f} {:>8.2f} {:>7.2f} | {:>8}\n", percent(b, c.whole[0].bytes),
                    percent(b, c.whole[1].bytes), percent(b, c.whole[2].bytes),
                    percent(b, c.whole[3].bytes), fills_text(c.fills));
  }
  const budget_sum now = expected(b, b.lines);
  text +=
      fmt::format("{:<16} {:>8} {:<13} {:>8} {:>8.0f} {:>9.2f} {:>7.2f}\n", "all lines together",
                  "", "", "", now.events, now.bytes / mega, percent(b, now.bytes));
  const auto by_payload = expected_by_payload(b);
  for (std::size_t p = 0; p < event_payloads; ++p)
    if (by_payload[p].events > 0)
      text += fmt::format("  {:<46} {:>8.0f} {:>9.2f} {:>7.2f}\n",
                          name_of(static_cast<event_payload>(p)), by_payload[p].events,
                          by_payload[p].bytes / mega, percent(b, by_payload[p].bytes));
  for (const auto& [error, sum] : expected_by_error(b))
    if (error != 0)
      text += fmt::format("  {:<46} {:>8.0f} {:>9.2f} {:>7.2f}\n",
                          "of these, samples within " + counts_in_words(error), sum.events,
                          sum.bytes / mega, percent(b, sum.bytes));
  return text + verdict(b, now) + '\n';
}

std::string table_of_kinds(const budget& b) {
  std::string text =
      fmt::format("{:<16} {:>10} {:>10} {:>9}\n", "true type", "a spill", "kept", "MB");
  const auto by_kind = expected_by_kind(b);
  for (std::size_t k = 0; k < b.kinds.size(); ++k)
    text += fmt::format("{:<16} {:>10.0f} {:>10.0f} {:>9.2f}\n", b.kinds[k].name,
                        static_cast<double>(b.kinds[k].events) / b.spills(), by_kind[k].events,
                        by_kind[k].bytes / mega);
  return text;
}

json::object json_of(const budget& b) {
  json::array lines;
  const auto factor = filling_factor(b);
  const auto filling = scaled(b, factor.value_or(1));
  for (std::size_t n = 0; n < b.lines.size(); ++n) {
    const line_cost c = cost_of(b, n);
    lines.push_back(json::object{
        {"line", b.lines[n].name},
        {"prescale", b.lines[n].prescale},
        {"payload", name_of(b.lines[n].payload)},
        {"control", b.lines[n].control},
        {"greatest_error", b.roundings[b.lines[n].rounding]},
        {"fired", c.fired},
        {"now", sum_json(b, c.now)},
        {"without_prescale", payloads_json(b, c.whole)},
        {"without_prescale_exact", payloads_json(b, c.exact)},
        {"fills_at", c.fills ? json::value(*c.fills) : json::value(nullptr)},
        {"filling_prescale", factor ? json::value(filling[n].prescale) : json::value(nullptr)}});
  }
  json::array kinds;
  const auto by_kind = expected_by_kind(b);
  for (std::size_t k = 0; k < b.kinds.size(); ++k)
    kinds.push_back(json::object{{"kind", b.kinds[k].name},
                                 {"events", static_cast<double>(b.kinds[k].events) / b.spills()},
                                 {"kept", sum_json(b, by_kind[k])}});
  return {{"total", sum_json(b, expected(b, b.lines))},
          {"by_payload", payloads_json(b, expected_by_payload(b))},
          {"by_greatest_error", errors_json(b)},
          {"filling_factor", factor ? json::value(*factor) : json::value(nullptr)},
          {"lines", std::move(lines)},
          {"kinds", std::move(kinds)}};
}

} // namespace

std::string budget_table(std::span<const budget> by_codec) {
  const budget& first = by_codec.front();
  std::string text =
      fmt::format("{:.0f} events a spill, from {} in the files; the link carries {:.1f} MB in a "
                  "spill's cycle. Of each line alone; behind the bar, its per cent of the link "
                  "without prescale, by what is kept.\n\n",
                  first.events_per_spill, first.events_seen, first.link_bytes / mega);
  for (const budget& b : by_codec) text += table_of_lines(b);
  if (first.kinds.size() > 1)
    for (const budget& b : by_codec)
      text += fmt::format("output.codec = \"{}\"\n", b.codec) + table_of_kinds(b);
  return text;
}

std::string budget_json(std::span<const budget> by_codec) {
  const budget& first = by_codec.front();
  json::object codecs;
  for (const budget& b : by_codec) codecs[b.codec] = json_of(b);
  return json::serialize(json::object{{"events_seen", first.events_seen},
                                      {"events_per_spill", first.events_per_spill},
                                      {"link_bytes", first.link_bytes},
                                      {"codecs", std::move(codecs)}}) +
         '\n';
}

std::string budget_svg(std::span<const budget> by_codec) {
  constexpr double left = 130;
  constexpr double width = 480;
  constexpr double bar = 9;
  constexpr double top = 58;
  constexpr std::array colours{"#4477aa", "#66ccee", "#228833", "#ccbb44", "#bbbbbb"};
  constexpr std::array names{"as it is", "all, no prescale", "suppressed", "features", "summary"};
  using row = std::array<double, names.size()>;
  std::vector<std::vector<row>> values; // by line, then by codec
  double most = 100;
  for (std::size_t n = 0; n < by_codec.front().lines.size(); ++n) {
    auto& of_line = values.emplace_back();
    for (const budget& b : by_codec) {
      const line_cost c = cost_of(b, n);
      row& r = of_line.emplace_back();
      r[0] = percent(b, c.now.bytes);
      for (std::size_t p = 0; p < event_payloads; ++p) r[p + 1] = percent(b, c.whole[p].bytes);
      most = std::max(most, *std::ranges::max_element(r));
    }
  }
  const auto bars = static_cast<double>(names.size() * by_codec.size());
  const double group = (bars + 1) * bar;
  const double height = top + group * static_cast<double>(values.size()) + 30;
  const auto x = [&](double value) { return left + width * value / most; };
  std::string codecs;
  for (const budget& b : by_codec) codecs += (codecs.empty() ? "" : ", then ") + b.codec;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"11\" fill=\"currentColor\">\n<title>What each line costs of the link</title>\n"
      "<text x=\"{:.0f}\" y=\"18\" font-size=\"14\">Per cent of the link, each line alone "
      "(codec {})</text>\n",
      left + width + 60, height, left, codecs);
  for (std::size_t k = 0; k < names.size(); ++k)
    svg += fmt::format("<rect x=\"{0:.0f}\" y=\"28\" width=\"9\" height=\"9\" fill=\"{1}\"/>"
                       "<text x=\"{2:.0f}\" y=\"37\">{3}</text>\n",
                       left + 100.0 * static_cast<double>(k), colours[k],
                       left + 100.0 * static_cast<double>(k) + 13, names[k]);
  for (std::size_t n = 0; n < values.size(); ++n) {
    double y = top + group * static_cast<double>(n);
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                       y + (bars + 1) / 2 * bar, by_codec.front().lines[n].name);
    for (const row& r : values[n])
      for (std::size_t k = 0; k < names.size(); ++k, y += bar)
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"8\" fill=\"{}\"/>"
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"8\">{:.1f}</text>\n",
            left, y, x(r[k]) - left, colours[k], x(r[k]) + 3, y + 7, r[k]);
  }
  svg += fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"44\" y2=\"{1:.0f}\" stroke=\"#cc3311\"/>"
      "<text x=\"{0:.1f}\" y=\"{2:.0f}\" text-anchor=\"middle\">100 %</text>\n</svg>\n",
      x(100), height - 24, height - 8);
  return svg;
}

} // namespace l3
