// SPDX-License-Identifier: Apache-2.0
// The description of each number that a program publishes. Its /metrics, its /status, their pages
// and tests are made from these descriptions, so a new counter is one entry in a list. Names,
// labels and units follow the conventions of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "transport/accounting/counters.hpp"
#include "transport/accounting/enumerator_names.hpp"
#include "transport/accounting/latency_distribution.hpp"

namespace l3 {

/// A distribution of latencies as Prometheus wants it.
struct latency_snapshot {
  /// Few, because each bound is a series. Median and p99 are exact without them.
  static constexpr std::array<std::uint64_t, 9> bounds{
      1'000'000,   3'000'000,     10'000'000,    30'000'000,    100'000'000,
      300'000'000, 1'000'000'000, 3'000'000'000, 10'000'000'000}; // ns

  std::array<std::uint64_t, bounds.size()> up_to{}; ///< entries at or below each bound
  std::uint64_t count = 0;
  double sum = 0;    ///< total of all entries in s
  double median = 0; ///< s
  double p99 = 0;    ///< s: 99 % took no longer
};
[[nodiscard]] latency_snapshot snapshot_of(const latency_distribution& h);

inline void tag_invoke(boost::json::value_from_tag, boost::json::value& to, const counter& from) {
  to = from.get();
}

struct family {
  enum class kind : std::uint8_t { counter, gauge, histogram, fact, count_ };
  using distribution = std::pair<std::string, latency_snapshot>;

  /// The value is a number, or nested objects with a level for each label. It is null where a part
  /// of the daemon does not exist.
  template <class Value>
  family(kind what, std::string_view metric, std::string_view place, std::string_view text,
         const Value& read)
      : is(what), name(metric), key(place), help(text), value(boost::json::value_from(read)) {}
  /// For /status only.
  template <class Value>
  family(std::string_view place, std::string_view text, const Value& read)
      : family(kind::fact, "", place, text, read) {}
  /// A distribution for each value of its label; "" without a label.
  family(std::string_view metric, std::string_view text, std::vector<distribution> read)
      : is(kind::histogram), name(metric), help(text), latencies(std::move(read)) {}

  kind is;
  /// The name without koto_l3_, with its labels: "events_total{outcome}". A name that begins with
  /// process_ is complete.
  std::string_view name;
  /// Its place in /status, or "" for none. In "events.{outcome}" the label's values are keys; in
  /// "lines[line].kept" `lines` is an array of objects, one for each value, which is their key
  /// `line`. Later parts replace a sum. An object is null if its first part is null.
  std::string_view key;
  std::string_view help;
  boost::json::value value;
  std::vector<distribution> latencies;

  [[nodiscard]] std::string metric() const; ///< "koto_l3_events_total"
  [[nodiscard]] std::vector<std::string> labels() const;
  /// Calls `found` with the label values and the number of each series; not for distributions.
  void each_series(const std::function<void(const std::vector<std::string>&,
                                            const boost::json::value&)>& found) const;
};

/// /metrics, in the text format of Prometheus.
[[nodiscard]] std::string render_metrics(std::span<const family> all);

/// /status: one JSON object of the families that have a key.
[[nodiscard]] std::string render_status(std::span<const family> all);

/// Markdown tables: of the metrics, and of the keys of /status without a metric.
struct family_tables {
  std::string metrics;
  std::string keys;
};
[[nodiscard]] family_tables tables_of(std::span<const family> all);

} // namespace l3
