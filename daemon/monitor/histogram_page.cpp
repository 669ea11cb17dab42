// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/histogram_page.hpp"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "monitor/pages.hpp"
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

} // namespace l3
