// SPDX-License-Identifier: Apache-2.0
// Tools for threads that the standard library lacks: a descriptor with which one wakes another, and
// the name under which the system shows one.
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// A descriptor for poll() that any thread can make readable.
class wake_event {
public:
  wake_event() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  [[nodiscard]] int descriptor() const { return event_.get(); }
  void wake() const {
    const std::uint64_t one = 1;
    // It fails only if the counter is full, and then the descriptor is readable anyway.
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
  }

private:
  file_descriptor event_;
};

// Sets the name of a thread for `top -H` and debuggers: the name in docs/architecture.md. A thread
// calls it first.

/// At most 15 characters, the kernel's limit.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

} // namespace l3
