// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/metrics.hpp"

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
  // The family's type says which of the two is written.
  m.counter.value = m.gauge.value =
      number.is_bool() ? (number.as_bool() ? 1 : 0) : number.to_number<double>();
  return m;
}

ClientMetric series(metric_labels l, const histogram_snapshot& h) {
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

} // namespace

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

histogram_snapshot snapshot_of(const latency_histogram& h) {
  histogram_snapshot s;
  // Buckets first: entries that come meanwhile may then miss from them, but no bucket exceeds the
  // count.
  for (std::size_t i = 0; i < s.bounds.size(); ++i)
    s.up_to[i] = h.count_up_to(std::chrono::nanoseconds(s.bounds[i]));
  s.median = in_seconds(h.quantile(0.5));
  s.p99 = in_seconds(h.quantile(0.99));
  s.sum = in_seconds(h.sum());
  s.count = h.count();
  return s;
}

std::string render_metrics(const metrics_snapshot& s) {
  std::vector<prometheus::MetricFamily> all;
  for (const family& f : families_of(s)) {
    if (f.is == family::kind::fact) continue;
    prometheus::MetricFamily to{
        f.metric(), std::string(f.help), types[static_cast<std::size_t>(f.is)], {}};
    const auto names = f.labels();
    if (f.is == family::kind::histogram) {
      for (const auto& [value, h] : f.histograms)
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

} // namespace l3
