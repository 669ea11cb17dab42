// SPDX-License-Identifier: Apache-2.0
// What ZeroMQ needs of the system. It ends the process where it gets no descriptor or no thread
// when it opens its first socket; so the system is asked for as much before.
#pragma once

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <sys/eventfd.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Throws std::runtime_error if the system would not give what a context with a few sockets needs
/// now. What another thread takes between this and ZeroMQ's own asking is not seen.
inline void check_needs_of_zeromq() {
  constexpr std::size_t descriptors = 24; // twice as many as are open behind a link
  constexpr std::size_t threads = 2;
  const auto refuse = [](const std::string& what, int error, const char* remedy) {
    throw std::runtime_error("the output link needs more " + what + ": " +
                             std::generic_category().message(error) + ": raise " + remedy);
  };
  std::array<file_descriptor, descriptors> opened;
  for (file_descriptor& d : opened)
    if (d = file_descriptor(::eventfd(0, EFD_CLOEXEC)); !d)
      refuse("files open at once", errno, "LimitNOFILE or `ulimit -n`");
  std::array<std::jthread, threads> started;
  try {
    for (std::jthread& t : started)
      t = std::jthread([](const std::stop_token& stop) {
        while (!stop.stop_requested()) std::this_thread::yield();
      });
  } catch (const std::system_error& e) {
    refuse("threads", e.code().value(), "TasksMax, `ulimit -u` or `ulimit -v`");
  }
}

} // namespace l3
