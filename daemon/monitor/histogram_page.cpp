// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/histogram_page.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/words.hpp"
#include "monitor/http_server.hpp"
#include "transport/histograms/comparison.hpp"
#include "transport/histograms/histogram_json.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace {

constexpr auto look_period = std::chrono::seconds(10);

} // namespace

histogram_page::histogram_page(const histogram_book& book, histogram_set of, histogram_names names,
                               std::string reference)
    : book_(book), of_(std::move(of)), names_(std::move(names)),
      reference_name_(std::move(reference)) {
  if (reference_name_.empty()) return;
  try {
    shown_histograms read = read_histogram_file(reference_name_);
    histogram_set empty = of_;
    empty.sums = histogram_sums(names_.inputs.size());
    why_no_reference_ = wrong_reference(show(empty, names_), read, reference_name_);
    if (why_no_reference_.empty()) reference_ = std::move(read);
  } catch (const std::runtime_error& e) {
    why_no_reference_ = reason_of(e);
  }
}

void histogram_page::look(time_point now) {
  if (!reference_ || now - looked_at_ < look_period) return;
  looked_at_ = now;
  histogram_book::view latest = book_.latest();
  auto found = changes_between(show_run(latest), *reference_);
  const std::lock_guard lock(mutex_);
  if (found == changes_) return;
  changes_ = std::move(found);
  report_ = report_of(changes_);
  ++changes_edition_;
}

std::optional<reference_report> histogram_page::since_reference() const {
  if (!reference_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return report_;
}

shown_histograms histogram_page::show_run(histogram_book::view& now) const {
  histogram_set run = of_;
  run.left_out = now.left_out;
  run.sums = std::move(now.run);
  return show(run, names_);
}

/// The last two members of both pages.
std::string histogram_page::ending() const {
  const std::lock_guard lock(mutex_);
  const std::string name =
      reference_ ? boost::json::serialize(boost::json::string(reference_name_)) : "null";
  return fmt::format(R"(,"reference":{},{}}})", name, members_of(changes_));
}

std::string histogram_page::json() const {
  histogram_book::view now = book_.latest();
  std::string text = R"({"run":)" + to_json(show_run(now)) + R"(,"spill":)";
  if (now.spill) {
    histogram_set spill = of_;
    spill.spill = now.spill;
    spill.sums = std::move(now.of_spill);
    text += to_json(show(spill, names_));
  } else {
    text += "null";
  }
  return text + ending();
}

std::string histogram_page::short_json() const {
  histogram_book::view now = book_.latest();
  shown_histograms run = show_run(now);
  run.inputs.clear();
  run.channels.clear();
  run.counters.clear();
  return R"({"run":)" + to_json(run) + ending();
}

std::uint64_t histogram_page::edition() const {
  const std::lock_guard lock(mutex_);
  return book_.edition() + changes_edition_;
}

void histogram_page::add_pages(const histogram_page* page, http_pages& to) {
  using make = std::string (histogram_page::*)() const;
  for (const auto& [path, of] : {std::pair<const char*, make>{"/histograms", &histogram_page::json},
                                 {"/histograms/short", &histogram_page::short_json}}) {
    if (page == nullptr) {
      to[path] = [] { return json_text(std::string("null")); };
      continue;
    }
    to[path] = [page, of = of, edition = std::uint64_t{0},
                text = std::optional<shared_text>()]() mutable {
      const std::uint64_t now = page->edition();
      if (!text || now != edition) text = (page->*of)();
      edition = now;
      return json_text(*text);
    };
  }
}

namespace {

constexpr std::size_t most_inputs_named = 8;

std::string in_short(const std::vector<std::string>& inputs) {
  if (inputs.size() <= most_inputs_named) return first_names(inputs);
  std::vector<std::string> crates;
  std::vector<crate_inputs> counts = by_crate(inputs);
  std::ranges::stable_sort(counts, std::ranges::greater(), &crate_inputs::inputs);
  crates.reserve(counts.size());
  for (const crate_inputs& c : counts)
    crates.push_back(fmt::format("{} of crate {}", c.inputs, c.crate));
  return first_names(crates);
}

} // namespace

reference_report report_of(const run_changes& changes) {
  std::set<channel_property> properties;
  for (const channel_change& c : changes.inputs) properties.insert(c.what);
  std::vector<std::string_view> what;
  what.reserve(properties.size());
  for (const channel_property p : properties) what.push_back(name_of(p));
  reference_report report;
  const auto add = [&](const std::vector<std::string>& inputs, const std::string& why) {
    if (inputs.empty()) return;
    report.inputs += inputs.size();
    if (!report.which_inputs.empty()) report.which_inputs += "; ";
    report.which_inputs += fmt::format("{} ({})", in_short(inputs), why);
  };
  add(changed_inputs(changes.inputs), fmt::format("{}", fmt::join(what, ", ")));
  add(changes.only_here, "not in the reference");
  add(changes.only_in_reference, "only in the reference");
  report.histograms = changes.histograms.size();
  for (const histogram_change& c : changes.histograms) {
    const std::string unit = c.unit.empty() ? "" : " " + c.unit;
    if (!report.which_histograms.empty()) report.which_histograms += ", ";
    report.which_histograms +=
        fmt::format("{} (mean {:.4g}{}, now {:.4g}{})", c.name, c.was, unit, c.is, unit);
  }
  return report;
}

} // namespace l3
