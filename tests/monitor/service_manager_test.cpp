// SPDX-License-Identifier: Apache-2.0
#include "monitor/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace l3 {
namespace {

using namespace std::chrono_literals;

// Stands in for the service manager: a socket with an abstract name.
class listening_manager {
public:
  listening_manager()
      : name_("@koto-l3-test-" + std::to_string(getpid())),
        socket_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::copy(name_.begin() + 1, name_.end(), at.sun_path + 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&at), length), 0);
  }
  ~listening_manager() { close(socket_); }
  listening_manager(const listening_manager&) = delete;
  listening_manager& operator=(const listening_manager&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The next message that is there; empty if there is none. Unix datagrams are there when they are
  /// sent.
  std::string heard() {
    char text[256];
    const ssize_t n = recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
  }

private:
  std::string name_;
  int socket_;
};

TEST(service_manager, hears_what_the_daemon_does) {
  listening_manager manager;
  const service_manager tell(manager.name());
  tell.ready();
  EXPECT_EQ(manager.heard(), "READY=1");
  tell.status("receiving\nREADY=0");
  EXPECT_EQ(manager.heard(), "STATUS=receiving READY=0");
  tell.alive();
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  tell.stopping();
  EXPECT_EQ(manager.heard(), "STOPPING=1");
  EXPECT_EQ(manager.heard(), "");
  long_start start(tell); // it waits as long as a start goes on
  const std::chrono::steady_clock::time_point begin{};
  start.goes_on(begin);
  EXPECT_EQ(manager.heard(), "EXTEND_TIMEOUT_USEC=30000000");
  start.goes_on(begin + 900ms);
  EXPECT_EQ(manager.heard(), "");
  start.goes_on(begin + 1s);
  EXPECT_EQ(manager.heard(), "EXTEND_TIMEOUT_USEC=30000000");
  for (const std::string& nowhere :
       {std::string(), std::string("/nonexistent/socket"), std::string(200, 'x')})
    EXPECT_NO_THROW(service_manager(nowhere).ready()) << nowhere;
}

TEST(service_manager, is_found_in_the_environment) {
  listening_manager manager;
  setenv("NOTIFY_SOCKET", manager.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  const auto mine = service_manager::from_environment();
  setenv("WATCHDOG_PID", "1", 1);
  const auto of_another = service_manager::from_environment();
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  mine.ready();
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(mine.watchdog(), 30s);
  EXPECT_EQ(of_another.watchdog(), std::nullopt);
  EXPECT_EQ(service_manager::from_environment().watchdog(), std::nullopt);
}

} // namespace
} // namespace l3
