// SPDX-License-Identifier: Apache-2.0
// A watch of etcd, as a bell: it says that something changed under some keys, and not what. So a
// watch that breaks, lags or brings nonsense does no harm: who waits by it reads the keys anyway,
// and also when it has not rung for a while.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

namespace l3 {

class etcd_watch {
public:
  /// `rings` is called while `io` runs.
  etcd_watch(boost::asio::io_context& io, std::function<void()> rings);
  ~etcd_watch();
  etcd_watch(const etcd_watch&) = delete;
  etcd_watch& operator=(const etcd_watch&) = delete;

  /// Begins anew if the watch is not open and none was tried in the last second. Needs `io` to run.
  void keep_open(const std::string& address, const std::string& token, const std::string& prefix);
  /// A connection on which nothing comes may be dead: after a failure of another one.
  void close();

private:
  class stream;
  boost::asio::io_context& io_;
  std::function<void()> rings_;
  std::shared_ptr<stream> stream_;
  std::chrono::steady_clock::time_point tried_{};
};

} // namespace l3
