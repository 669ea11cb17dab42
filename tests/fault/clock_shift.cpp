// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, it makes the clock of the day jump: by as many seconds as stand in the
// file that KOTO_L3_CLOCK_SHIFT names, from the moment on in which they are written there. The
// steady clocks stay as they are, as they would on a real machine.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>

namespace {

std::int64_t seconds() {
  static const volatile std::int64_t* const shift = [] {
    const char* const name = std::getenv("KOTO_L3_CLOCK_SHIFT");
    const int file = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) std::abort();
    return static_cast<const volatile std::int64_t*>(page);
  }();
  return *shift;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  static auto* const function = real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = function(clock, t);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) t->tv_sec += seconds();
  return result;
}

extern "C" int gettimeofday(timeval* t, void* zone) noexcept {
  static auto* const function = real<int(timeval*, void*)>("gettimeofday");
  const int result = function(t, zone);
  t->tv_sec += seconds();
  return result;
}

extern "C" time_t time(time_t* t) noexcept {
  static auto* const function = real<time_t(time_t*)>("time");
  const time_t now = function(nullptr) + seconds();
  if (t != nullptr) *t = now;
  return now;
}
