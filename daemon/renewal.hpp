// SPDX-License-Identifier: Apache-2.0
// When a daemon makes way for a new process, because only a new process can have its device again:
// between spills, when every event is stored or on disk, and a new process is known to get the
// device. Until then, and where no service manager would start the daemon again, the CPU computes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/device_probe.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// What the node says about its device and its data at one moment.
struct renewal_view {
  bool device_lost = false;    ///< to this process
  bool all_held = false;       ///< the device holds every frame: no data can be taken
  bool between_spills = false; ///< a spill has ended, and nothing has come since
  bool settled = false;        ///< every event is stored by the receiver, or will be on disk
};

class renewal {
public:
  struct rules {
    std::chrono::nanoseconds least_age{}; ///< of the process; 0: it never makes way
    bool managed = false;                 ///< a service manager starts the daemon again
    time_point started;
  };
  using question = std::function<device_probe::answer(time_point)>;
  using note = std::function<void(std::string_view)>;

  /// `would_have_device` is asked again and again while its answer is not_yet.
  renewal(const rules& r, question would_have_device, note tell)
      : rules_(r), would_have_device_(std::move(would_have_device)), tell_(std::move(tell)) {}

  /// Whether the process shall end now. Call it about twice a second.
  [[nodiscard]] bool is_due(const renewal_view& v, time_point now);

private:
  void say(std::string_view text);

  rules rules_;
  question would_have_device_;
  note tell_;
  std::string_view said_;
  bool would_have_ = false;
  time_point ask_at_{};
};

} // namespace l3
