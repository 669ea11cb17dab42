// SPDX-License-Identifier: Apache-2.0
// Why a CUDA device does not respond, in one sentence with the remedy, for the operator. The
// driver's files often say more than its error: a missing device file, too, is "no device".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace l3 {

enum class device_refusal : std::uint8_t {
  no_driver,  ///< the driver's library is missing
  old_driver, ///< older than the runtime in this program
  no_device,  ///< no device is visible, or the driver does not start
  in_use,     ///< exclusively, by another process
  no_code,    ///< this program has no code for it
  other
};

struct refused_device {
  device_refusal what = device_refusal::other;
  std::string words; ///< from the CUDA runtime
  int driver = 0;    ///< newest CUDA version of the driver: 12040 is 12.4
  int runtime = 0;   ///< version in this program
};

struct device_files {
  std::string root = "/"; ///< contains /dev and /proc
  /// Whether this process may read and write a file; replaced in tests.
  std::function<bool(const std::string&)> may_open;
};

[[nodiscard]] std::string why_no_device(const refused_device& refused,
                                        const device_files& files = {});

} // namespace l3
