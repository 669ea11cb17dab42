// SPDX-License-Identifier: Apache-2.0
// The one description of each number that a daemon tells about itself. /metrics, /status,
// docs/metrics.md and their tests are made of these descriptions, so a new counter is one entry of
// families.cpp. Names, labels and units follow the conventions of Prometheus.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "daemon/monitor/snapshot.hpp"

namespace l3 {

inline void tag_invoke(boost::json::value_from_tag, boost::json::value& to, const counter& from) {
  to = from.get();
}

struct family {
  enum class kind : std::uint8_t { counter, gauge, histogram, fact, count_ };
  using distribution = std::pair<std::string, histogram_snapshot>;

  /// A number, or for each label an object by its values, then the number; null where a part of
  /// the daemon is not there.
  template <class Value>
  family(kind what, std::string_view metric, std::string_view place, std::string_view text,
         const Value& read)
      : is(what), name(metric), key(place), help(text), value(boost::json::value_from(read)) {}
  /// Only in /status.
  template <class Value>
  family(std::string_view place, std::string_view text, const Value& read)
      : family(kind::fact, "", place, text, read) {}
  /// By the values of its label, or "".
  family(std::string_view metric, std::string_view text, std::vector<distribution> read)
      : is(kind::histogram), name(metric), help(text), histograms(std::move(read)) {}

  kind is;
  std::string_view name; ///< behind koto_l3_, with its labels: "events_total{outcome}"
  /// Its place in /status, or "" for none. In "events.{outcome}" the label's values are keys; in
  /// "lines[line].kept" `lines` is an array with an object for each value, whose key `line` has it.
  /// A sum gives way to its parts, if these come later.
  std::string_view key;
  std::string_view help;
  boost::json::value value;
  std::vector<distribution> histograms;

  [[nodiscard]] std::string metric() const { ///< "koto_l3_events_total"
    return "koto_l3_" + std::string(name.substr(0, name.find('{')));
  }
  [[nodiscard]] std::vector<std::string> labels() const;
  /// Calls `found` with the labels' values of each series, and its number; not for histograms.
  void each_series(const std::function<void(const std::vector<std::string>&,
                                            const boost::json::value&)>& found) const;
};

/// In the order of /metrics. The number of series depends on those of inputs and lines only.
[[nodiscard]] std::vector<family> families_of(const metrics_snapshot& s);

/// /metrics, in the text format of Prometheus.
[[nodiscard]] std::string render_metrics(const metrics_snapshot& s);

} // namespace l3
