// SPDX-License-Identifier: Apache-2.0
#include "monitor/family.hpp"

#include <initializer_list>
#include <set>
#include <sstream>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace l3 {
namespace {

namespace json = boost::json;
using prometheus::ClientMetric;
using prometheus::MetricType;
using metric_labels = std::vector<ClientMetric::Label>;

constexpr double seconds_per_ns = 1e-9;

// By family::kind.
constexpr std::array types{MetricType::Counter, MetricType::Gauge, MetricType::Histogram};

metric_labels labels_of(const std::vector<std::string>& names,
                        const std::vector<std::string>& values) {
  metric_labels all;
  for (std::size_t i = 0; i < names.size(); ++i) all.push_back({names[i], values[i]});
  return all;
}

ClientMetric series(metric_labels l, const json::value& number) {
  ClientMetric m;
  m.label = std::move(l);
  // The family's type decides which of the two is written.
  m.counter.value = m.gauge.value =
      number.is_bool() ? (number.as_bool() ? 1 : 0) : number.to_number<double>();
  return m;
}

ClientMetric series(metric_labels l, const latency_snapshot& h) {
  ClientMetric m;
  m.label = std::move(l);
  m.histogram.sample_count = h.count;
  m.histogram.sample_sum = h.sum;
  for (std::size_t i = 0; i < h.bounds.size(); ++i)
    m.histogram.bucket.push_back({h.up_to[i], static_cast<double>(h.bounds[i]) * seconds_per_ns});
  return m;
}

using series_function = std::function<void(const std::vector<std::string>&, const json::value&)>;

void each_series_in(const json::value& value, std::size_t depth, std::vector<std::string>& values,
                    const series_function& found) {
  if (value.is_null()) return;
  if (values.size() == depth) return found(values, value);
  for (const auto& [name, part] : value.as_object()) {
    values.emplace_back(name);
    each_series_in(part, depth, values, found);
    values.pop_back();
  }
}

/// Stores a family's value at its key; each label in the key descends one level into the value.
void place(json::object& into, std::string_view key, const json::value& value) {
  const std::size_t dot = key.find('.');
  const std::string_view here = key.substr(0, dot);
  const std::string_view rest = dot == key.npos ? "" : key.substr(dot + 1);
  const auto put = [rest](json::value& there, const json::value& what) {
    if (rest.empty() || (what.is_null() && !there.is_object())) {
      there = what;
    } else {
      if (!there.is_object()) there.emplace_object();
      place(there.as_object(), rest, what);
    }
  };
  if (here.starts_with('{')) {
    for (const auto& [name, part] : value.as_object()) put(into[name], part);
  } else if (const std::size_t open = here.find('['); open != here.npos) {
    const std::string_view label = here.substr(open + 1, here.size() - open - 2);
    json::value& list = into[here.substr(0, open)];
    if (!list.is_array()) list.emplace_array();
    for (std::size_t i = 0; const auto& [name, part] : value.as_object()) {
      if (i == list.as_array().size()) list.as_array().push_back(json::object{{label, name}});
      place(list.as_array()[i++].as_object(), rest, part);
    }
  } else {
    put(into[here], value);
  }
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

/// "`outcome`: `applied`, `refused`".
std::string labels_in_words(const family& f) {
  std::string text;
  const auto names = f.labels();
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : "; ") + code(names[i]);
    const char* separator = ": ";
    std::set<std::string> named;
    const auto add = [&](const std::string& value) {
      if (!value.empty() && named.insert(value).second)
        text += std::exchange(separator, ", ") + code(value);
    };
    f.each_series([&](const auto& values, const auto&) { add(values[i]); });
    for (const auto& [value, times] : f.latencies) add(value);
  }
  return text;
}

std::string table_row(std::initializer_list<std::string> cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row.append(" ").append(cell).append(" |");
  return row + "\n";
}

} // namespace

std::string family::metric() const {
  const std::string bare(name.substr(0, name.find('{')));
  return bare.starts_with("process_") ? bare : "koto_l3_" + bare;
}

std::vector<std::string> family::labels() const {
  std::vector<std::string> names;
  for (std::size_t from = name.find('{'); from < name.size() - 1;) {
    const std::size_t end = name.find_first_of(",}", ++from);
    names.emplace_back(name.substr(from, end - from));
    from = end;
  }
  return names;
}

void family::each_series(const series_function& found) const {
  std::vector<std::string> values;
  each_series_in(value, labels().size(), values, found);
}

latency_snapshot snapshot_of(const latency_distribution& h) {
  latency_snapshot s;
  // Buckets are read before the count: later entries may be missing from them, but no bucket
  // exceeds the count.
  for (std::size_t i = 0; i < s.bounds.size(); ++i)
    s.up_to[i] = h.count_up_to(std::chrono::nanoseconds(s.bounds[i]));
  s.median = in_seconds(h.quantile(0.5));
  s.p99 = in_seconds(h.quantile(0.99));
  s.sum = in_seconds(h.sum());
  s.count = h.count();
  return s;
}

std::string render_metrics(std::span<const family> families) {
  std::vector<prometheus::MetricFamily> all;
  for (const family& f : families) {
    if (f.is == family::kind::fact) continue;
    prometheus::MetricFamily to{
        f.metric(), std::string(f.help), types[static_cast<std::size_t>(f.is)], {}};
    const auto names = f.labels();
    if (f.is == family::kind::histogram) {
      for (const auto& [value, h] : f.latencies)
        to.metric.push_back(series(labels_of(names, {value}), h));
    } else {
      f.each_series([&](const auto& values, const json::value& number) {
        to.metric.push_back(series(labels_of(names, values), number));
      });
    }
    if (!to.metric.empty()) all.push_back(std::move(to));
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, all);
  return out.str();
}

std::string render_status(std::span<const family> families) {
  json::object status;
  for (const family& f : families)
    if (!f.key.empty()) place(status, f.key, f.value);
  return json::serialize(status) + "\n";
}

family_tables tables_of(std::span<const family> families) {
  family_tables tables{"| metric | type | labels | key of `/status` | meaning |\n"
                       "| --- | --- | --- | --- | --- |\n",
                       "\n## Other keys of /status\n\n| key | meaning |\n| --- | --- |\n"};
  for (const family& f : families) {
    const std::string help(f.help);
    const std::string key = f.key.empty() ? "" : code(f.key);
    if (f.name.empty())
      tables.keys += table_row({key, help});
    else if (!f.name.starts_with("process_")) // those of every client of Prometheus
      tables.metrics +=
          table_row({code(f.metric()), std::string(name_of(f.is)), labels_in_words(f), key, help});
  }
  return tables;
}

} // namespace l3
