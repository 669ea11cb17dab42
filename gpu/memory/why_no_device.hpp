// SPDX-License-Identifier: Apache-2.0
// Why a CUDA device does not answer, in one sentence with the remedy, for the operator. What the
// driver says is often less than what its files show: a missing device file, too, is "no device".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace l3 {

enum class device_refusal : std::uint8_t {
  no_driver,  ///< no library of the driver
  old_driver, ///< older than the runtime in this program
  no_device,  ///< none is seen, or the driver does not start
  in_use,     ///< by another process, for itself alone
  no_code,    ///< this program has none for it
  other
};

struct refused_device {
  device_refusal what = device_refusal::other;
  std::string words; ///< the CUDA runtime's
  int driver = 0;    ///< the newest CUDA version that it knows: 12040 is 12.4
  int runtime = 0;   ///< the version in this program
};

struct device_files {
  std::string root = "/"; ///< below which /dev and /proc lie
  /// Whether this process may read and write a file; for tests.
  std::function<bool(const std::string&)> may_open;
};

[[nodiscard]] std::string why_no_device(const refused_device& refused,
                                        const device_files& files = {});

} // namespace l3
