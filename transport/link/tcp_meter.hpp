// SPDX-License-Identifier: Apache-2.0
// How many bytes a program has taken from a TCP connection that a library owns, as the kernel
// counts them. The meter holds a descriptor of its own, so that it never reads another connection
// to which the system gave the same number since. As long as it does, the connection is not closed,
// only shut down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

class tcp_meter {
public:
  /// Nothing if this descriptor is no TCP connection, or not any more; or if the process has no
  /// descriptor left from number `lowest` on: then errno is EMFILE or EINVAL.
  [[nodiscard]] static std::optional<tcp_meter> of(int descriptor, int lowest = 0);

  struct reading {
    std::uint64_t taken = 0; ///< at most so many bytes of the connection are in the program
    bool more = false;       ///< others wait in the kernel
  };
  [[nodiscard]] reading read() const;
  /// Ends the connection in both directions. Its owner sees that the other end closed it.
  void shut_down() const;
  /// "address:port" of the other end, as text for a person; also when it has gone since.
  [[nodiscard]] std::string peer() const;
  /// The same without the port, as each has a share (peer_share); all that have gone are one.
  [[nodiscard]] std::string machine() const;
  [[nodiscard]] int descriptor() const { return own_.get(); }

private:
  tcp_meter(file_descriptor own, const sockaddr_storage& there)
      : own_(std::move(own)), there_(there) {}

  file_descriptor own_;
  sockaddr_storage there_; ///< the other end; of no family if it had gone already
};

} // namespace l3
