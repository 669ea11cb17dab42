// SPDX-License-Identifier: Apache-2.0
// Ends the process a stated time after SIGTERM or SIGINT, whatever it is doing: a start or a drain
// may wait in a call of the system, at a disk that does not answer. What is not on disk by then is
// lost as in a crash, and the next start says so.
#pragma once

#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "transport/system/end_now.hpp"
#include "transport/system/thread_name.hpp"

namespace l3 {

class end_in_time {
public:
  explicit end_in_time(std::chrono::nanoseconds limit) {
    signals_.async_wait([this, limit](const boost::system::error_code& error, int /*number*/) {
      if (error) return;
      timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit));
      timer_.async_wait([](const boost::system::error_code& cancelled) {
        if (!cancelled) end_now("koto-l3d: not ended in its time after a signal: it ends now\n");
      });
    });
    // Without anything to wait for it would return at once.
    thread_ = std::jthread([this] {
      name_this_thread("end");
      io_.run();
    });
  }
  ~end_in_time() { io_.stop(); }
  end_in_time(const end_in_time&) = delete;
  end_in_time& operator=(const end_in_time&) = delete;

private:
  boost::asio::io_context io_;
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT};
  boost::asio::steady_timer timer_{io_};
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
