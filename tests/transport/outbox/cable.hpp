// SPDX-License-Identifier: Apache-2.0
// A cable between two ends of TCP on this machine, which a test can pull: then bytes are taken from
// neither end, and none is told.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"

namespace l3::test {

class cable {
public:
  /// To "tcp://127.0.0.1:port".
  explicit cable(const std::string& to)
      : to_(static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1)))),
        listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here = address(0);
    socklen_t length = sizeof here;
    if (::bind(listening_.get(), reinterpret_cast<sockaddr*>(&here), length) != 0 ||
        ::listen(listening_.get(), 16) != 0 ||
        ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&here), &length) != 0)
      throw std::runtime_error("cannot listen");
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  void pull(bool is_pulled = true) { pulled_ = is_pulled; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; } ///< that went through, both ways

private:
  struct pair {
    file_descriptor near;
    file_descriptor far;
  };

  static sockaddr_in address(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (pulled_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      std::vector<pollfd> all{{listening_.get(), POLLIN, 0}};
      for (const pair& p : pairs_) {
        all.push_back({p.near.get(), POLLIN, 0});
        all.push_back({p.far.get(), POLLIN, 0});
      }
      if (::poll(all.data(), all.size(), 5) <= 0) continue;
      for (std::size_t i = pairs_.size(); i-- > 0;) {
        const bool lives = (all[1 + 2 * i].revents == 0 || carry(pairs_[i].near, pairs_[i].far)) &&
                           (all[2 + 2 * i].revents == 0 || carry(pairs_[i].far, pairs_[i].near));
        if (!lives) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (all[0].revents != 0) connect();
    }
  }
  void connect() {
    pair p{file_descriptor(::accept(listening_.get(), nullptr, nullptr)),
           file_descriptor(::socket(AF_INET, SOCK_STREAM, 0))};
    const sockaddr_in there = address(to_);
    if (::connect(p.far.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0)
      pairs_.push_back(std::move(p));
  }
  /// False: one end has closed it.
  bool carry(const file_descriptor& from, const file_descriptor& to) {
    const ssize_t got = ::recv(from.get(), buffer_.data(), buffer_.size(), 0);
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::send(to.get(), buffer_.data() + done,
                               static_cast<std::size_t>(got - done), MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += n;
    }
    if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }

  std::uint16_t to_;
  file_descriptor listening_;
  std::string endpoint_;
  std::array<char, 65536> buffer_{};
  std::vector<pair> pairs_;
  std::atomic<bool> pulled_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::jthread thread_;
};

} // namespace l3::test
