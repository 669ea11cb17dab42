// SPDX-License-Identifier: Apache-2.0
// Logs a warning when a count has increased: at once the first time, later only now and then, with
// the increase since. For events that may happen a thousand times a second. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "monitor/log.hpp"
#include "transport/accounting/occasional.hpp"

namespace l3 {

class rising_count {
public:
  explicit rising_count(const char* what) : what_(what) {}

  void tell(std::uint64_t count) {
    const std::uint64_t more = count - std::exchange(last_, count);
    const auto now = steady_clock::now();
    if (const auto n = more != 0 ? speaking_.happened(now, more) : speaking_.due(now))
      log_warning("{} {}", *n, what_);
  }

private:
  const char* what_;
  std::uint64_t last_ = 0;
  occasional speaking_{std::chrono::seconds(5)};
};

} // namespace l3
