// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/histogram_json.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/histograms/comparison.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace {

namespace json = boost::json;

constexpr std::int64_t version = 2;

named_histogram shown(std::string name, std::string unit, double scale, const histogram_axis& axis,
                      const std::vector<std::uint64_t>& counts, std::uint32_t first) {
  const auto from = counts.begin() + first;
  return {std::move(name),
          std::move(unit),
          axis.low / scale,
          axis.width / scale,
          {from, from + axis.counts()},
          {}};
}

json::array of_all(const std::vector<named_histogram>& all) {
  json::array made;
  for (const named_histogram& h : all)
    made.push_back(json::object{{"name", h.name},
                                {"unit", h.unit},
                                {"low", h.low},
                                {"width", h.width},
                                {"counts", json::array(h.counts.begin(), h.counts.end())}});
  return made;
}

const json::value& at(const json::object& o, std::string_view key) {
  const auto* const found = o.if_contains(key);
  if (found == nullptr) throw std::runtime_error(fmt::format("\"{}\" is missing", key));
  return *found;
}

template <class Number>
Number number(const json::value& v, std::string_view key) {
  boost::system::error_code wrong;
  const auto n = v.to_number<Number>(wrong);
  if (wrong) throw std::runtime_error(fmt::format("\"{}\" is not a number that fits", key));
  return n;
}

template <class Number>
Number number(const json::object& o, std::string_view key) {
  return number<Number>(at(o, key), key);
}

const json::array& list(const json::object& o, std::string_view key) {
  const auto* const found = at(o, key).if_array();
  if (found == nullptr) throw std::runtime_error(fmt::format("\"{}\" is not a list", key));
  return *found;
}

std::string text(const json::object& o, std::string_view key) {
  const auto* const found = at(o, key).if_string();
  if (found == nullptr) throw std::runtime_error(fmt::format("\"{}\" is not a text", key));
  return std::string(*found);
}

const json::object& object(const json::value& v, std::string_view key) {
  const auto* const found = v.if_object();
  if (found == nullptr) throw std::runtime_error(fmt::format("\"{}\" is not an object", key));
  return *found;
}

std::vector<named_histogram> read_all(const json::object& o, std::string_view key) {
  std::vector<named_histogram> all;
  for (const json::value& v : list(o, key)) {
    const json::object& from = object(v, key);
    named_histogram h{text(from, "name"),
                      text(from, "unit"),
                      number<double>(from, "low"),
                      number<double>(from, "width"),
                      {},
                      {}};
    for (const json::value& n : list(from, "counts"))
      h.counts.push_back(number<std::uint64_t>(n, "counts"));
    if (h.counts.size() < 3 || !(h.width > 0))
      throw std::runtime_error(fmt::format("the histogram {} has no bins", h.name));
    all.push_back(std::move(h));
  }
  return all;
}

/// "line:column", both from 1.
std::string place_in(std::string_view words, std::size_t offset) {
  const std::string_view before = words.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1; // npos + 1: 0
  return fmt::format("{}:{}", 1 + std::ranges::count(before, '\n'), before.size() - line_begin + 1);
}

void read_channels(const json::object& o, shown_histograms& to) {
  const json::object& from = object(at(o, "channels"), "channels");
  to.channels.resize(to.inputs.size());
  const auto column = [&](std::string_view key) -> const json::array& {
    const json::array& values = list(from, key);
    if (values.size() != to.channels.size())
      throw std::runtime_error(fmt::format("\"{}\" has {} values for {} inputs", key, values.size(),
                                           to.channels.size()));
    return values;
  };
  for (const sum_column& c : sum_columns) {
    const json::array& values = column(c.name);
    for (std::size_t i = 0; i < to.channels.size(); ++i)
      to.channels[i].*c.of = number<std::uint64_t>(values[i], c.name);
  }
  const json::array& times = column("time");
  for (std::size_t i = 0; i < to.channels.size(); ++i)
    to.channels[i].time = number<std::int64_t>(times[i], "time");
}

} // namespace

shown_histograms show(const histogram_set& set, const histogram_names& names) {
  shown_histograms h;
  h.run = set.run;
  h.node = set.node;
  h.spill = set.spill;
  h.settings = fmt::format("{:08x}", set.settings);
  h.one_in = set.one_in;
  h.left_out = set.left_out;
  h.inputs = names.inputs;
  h.channels = set.sums.channels;
  h.channels.resize(h.inputs.size());
  const auto& counts = set.sums.counts;
  if (counts.size() != event_counts) return h;
  h.events = counts[count_of_events];
  h.sampled = counts[count_of_sampled];
  for (std::uint32_t k = 0; k < event_histograms; ++k) {
    const auto what = static_cast<event_histogram>(k);
    const event_histogram_form form = form_of(what);
    h.histograms.push_back(shown(std::string(form.name), std::string(form.unit), form.scale,
                                 form.axis, counts, first_count(what)));
  }
  for (std::uint32_t n = 0; n < names.counters.size() && n < max_vetoes; ++n)
    h.counters.push_back(shown(names.counters[n], "ns", veto_time_unit, veto_time_axis, counts,
                               first_veto_count(n)));
  return h;
}

std::string to_json(const shown_histograms& h) {
  json::object channels;
  for (const sum_column& c : sum_columns) {
    json::array values;
    values.reserve(h.channels.size());
    for (const channel_sums& one : h.channels) values.push_back(one.*c.of);
    channels[c.name] = std::move(values);
  }
  json::array times;
  for (const channel_sums& one : h.channels) times.push_back(one.time);
  channels["time"] = std::move(times);
  return json::serialize(json::object{{"histograms", version},
                                      {"run", h.run},
                                      {"node", h.node ? json::value(*h.node) : json::value()},
                                      {"spill", h.spill ? json::value(*h.spill) : json::value()},
                                      {"settings", h.settings},
                                      {"one_in", h.one_in},
                                      {"events", h.events},
                                      {"sampled", h.sampled},
                                      {"left_out", h.left_out},
                                      {"inputs", json::array(h.inputs.begin(), h.inputs.end())},
                                      {"channels", std::move(channels)},
                                      {"of_events", of_all(h.histograms)},
                                      {"of_counters", of_all(h.counters)}});
}

shown_histograms read_histograms(std::string_view words) {
  boost::system::error_code wrong;
  json::stream_parser parser;
  const std::size_t read = parser.write_some(words.data(), words.size(), wrong);
  if (!wrong) parser.finish(wrong);
  if (wrong)
    throw std::runtime_error(
        fmt::format("{}: not JSON: {}", place_in(words, read), wrong.message()));
  const json::value all = parser.release();
  const json::object* o = &object(all, "the document");
  if (const auto* run = o->if_contains("run"); run != nullptr && run->is_object())
    o = &run->get_object();
  if (number<std::int64_t>(*o, "histograms") != version)
    throw std::runtime_error(
        fmt::format("\"histograms\" is not {}: another version of koto-l3 wrote it", version));
  shown_histograms h;
  h.run = number<std::uint32_t>(*o, "run");
  if (const json::value& node = at(*o, "node"); !node.is_null())
    h.node = number<std::uint32_t>(node, "node");
  if (const json::value& spill = at(*o, "spill"); !spill.is_null())
    h.spill = number<std::uint32_t>(spill, "spill");
  h.settings = text(*o, "settings");
  h.one_in = number<std::uint32_t>(*o, "one_in");
  h.events = number<std::uint64_t>(*o, "events");
  h.sampled = number<std::uint64_t>(*o, "sampled");
  h.left_out = number<std::uint64_t>(*o, "left_out");
  for (const json::value& v : list(*o, "inputs")) {
    if (!v.is_string()) throw std::runtime_error("\"inputs\" has an entry that is not a text");
    h.inputs.emplace_back(v.get_string());
  }
  read_channels(*o, h);
  h.histograms = read_all(*o, "of_events");
  h.counters = read_all(*o, "of_counters");
  for (auto* const histograms : {&h.histograms, &h.counters})
    for (named_histogram& one : *histograms)
      one.place = place_in(words, words.find('"' + one.name + '"'));
  return h;
}

shown_histograms read_histogram_file(const std::string& file) {
  constexpr std::uint64_t most = std::uint64_t{16} << 20;
  const input_text in = read_input(file, most);
  if (!in.refusal.empty()) throw std::runtime_error(file + " " + in.refusal);
  try {
    return read_histograms(in.text);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format(
        "{} holds no histograms that this version reads: {}. `koto-l3 histograms URL --save FILE` "
        "writes such a file",
        file, e.what()));
  }
}

std::string wrong_with_histogram_file(const std::string& file) {
  try {
    static_cast<void>(read_histogram_file(file));
    return {};
  } catch (const std::runtime_error& e) {
    return reason_of(e);
  }
}

namespace {

bool have_other_names(const std::vector<named_histogram>& a,
                      const std::vector<named_histogram>& b) {
  return !std::ranges::equal(a, b, {}, &named_histogram::name, &named_histogram::name);
}

std::string why_not(const shown_histograms& a, const shown_histograms& b) {
  if (a.run != b.run) return fmt::format("they belong to runs {} and {}", a.run, b.run);
  if (a.settings != b.settings)
    return fmt::format("their events were decided by different settings, {} and {}", a.settings,
                       b.settings);
  if (a.one_in != b.one_in)
    return fmt::format("they sample the inputs of one event in {} and one in {}", a.one_in,
                       b.one_in);
  if (a.inputs != b.inputs) return "their inputs differ";
  if (have_other_names(a.histograms, b.histograms) || have_other_names(a.counters, b.counters))
    return "their lists of histograms differ";
  const auto difference = other_binning(a, b);
  return difference ? difference->text : "";
}

void add_counts(std::vector<named_histogram>& to, const std::vector<named_histogram>& more) {
  for (std::size_t n = 0; n < to.size(); ++n)
    std::ranges::transform(to[n].counts, more[n].counts, to[n].counts.begin(), std::plus{});
}

} // namespace

std::string add(shown_histograms& to, const shown_histograms& more) {
  if (std::string why = why_not(to, more); !why.empty()) return why;
  to.events += more.events;
  to.sampled += more.sampled;
  to.left_out += more.left_out;
  for (std::size_t i = 0; i < to.channels.size(); ++i) {
    for (const sum_column& c : sum_columns) to.channels[i].*c.of += more.channels[i].*c.of;
    to.channels[i].time += more.channels[i].time;
  }
  add_counts(to.histograms, more.histograms);
  add_counts(to.counters, more.counters);
  if (to.node != more.node) to.node.reset();
  if (to.spill != more.spill) to.spill.reset();
  return "";
}

} // namespace l3
