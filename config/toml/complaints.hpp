// SPDX-License-Identifier: Apache-2.0
// Collects the mistakes in files that people write and reports them together: a reader notes a
// mistake and continues. Each complaint gives the place, the mistake, and the remedy.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "config/toml/place.hpp"

namespace l3 {

struct complaint {
  source_place at;
  std::string text; ///< "what is wrong; what to write instead"
};

/// `/etc/koto-l3/l3.toml:12:1: forward.rat is not a key; did you mean forward.rate?`
[[nodiscard]] std::string to_string(const complaint& c);

/// Thrown by readers of files. what() has one line per complaint.
class bad_file : public std::runtime_error {
public:
  explicit bad_file(std::vector<complaint> all);
  template <class... Parts>
  bad_file(source_place at, fmt::format_string<Parts...> text, Parts&&... parts)
      : bad_file(std::vector{
            complaint{std::move(at), fmt::format(text, std::forward<Parts>(parts)...)}}) {}
  [[nodiscard]] const std::vector<complaint>& all() const { return all_; }

private:
  std::vector<complaint> all_;
};

/// The parser stops collecting mistakes of one file after this many.
inline constexpr std::size_t most_complaints = 1000;

class complaints {
public:
  /// Drops complaints beyond most_complaints.
  template <class... Parts>
  void add(source_place at, fmt::format_string<Parts...> text, Parts&&... parts) {
    if (!full()) all_.push_back({std::move(at), fmt::format(text, std::forward<Parts>(parts)...)});
  }
  /// Calls f() and reports its exception as a complaint at that place.
  template <class F>
  void hear(const source_place& at, const F& f) {
    try {
      f();
    } catch (const std::runtime_error& e) {
      add(at, "{}", e.what());
    }
  }
  [[nodiscard]] bool any() const { return !all_.empty(); }
  /// Whether a reader may stop, because further complaints would be dropped.
  [[nodiscard]] bool full() const { return all_.size() >= most_complaints; }
  /// In the order of the file.
  [[nodiscard]] std::vector<complaint> take();
  /// Throws bad_file if there are any complaints.
  void raise() {
    if (any()) throw bad_file(take());
  }

private:
  std::vector<complaint> all_;
};

// Finds the name that was most likely meant.

/// Number of insertions, deletions, replacements and swaps of neighbours between the two names.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to the name, or one that is equal after the last dot, because the right
/// key under the wrong heading is the likeliest mistake. Empty if none is near enough.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       const std::vector<std::string_view>& candidates);

/// Returns "did you mean NEAREST?", or else "there are ALL".
[[nodiscard]] std::string suggest(std::string_view name, const std::vector<std::string_view>& all);

} // namespace l3
