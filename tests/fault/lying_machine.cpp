// SPDX-License-Identifier: Apache-2.0
// A library to preload. It simulates faults of the machine. Four numbers in the file that
// KOTO_L3_LYING_MACHINE names control it at once: the shift of the wall clock in seconds; an errno
// with which every fsync and fdatasync fails (0: none does); the count of these failures; and
// whether the file system lacks locks and flushes of folders, like some network file systems.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

namespace {

struct orders {
  std::atomic<std::int64_t> clock_shift;
  std::atomic<std::int64_t> flush_error;
  std::atomic<std::int64_t> flushes_failed;
  std::atomic<std::int64_t> poor;
};

orders& all() {
  static orders* const found = [] {
    const char* const name = std::getenv("KOTO_L3_LYING_MACHINE");
    const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const page = mmap(nullptr, sizeof(orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) std::abort();
    return static_cast<orders*>(page);
  }();
  return *found;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int flush(const char* name, int file) {
  const std::int64_t error = all().flush_error;
  if (error == 0) return real<int(int)>(name)(file);
  ++all().flushes_failed;
  errno = static_cast<int>(error);
  return -1;
}

} // namespace

extern "C" int fsync(int file) {
  struct stat found {};
  if (all().poor != 0 && fstat(file, &found) == 0 && S_ISDIR(found.st_mode)) {
    errno = EINVAL;
    return -1;
  }
  return flush("fsync", file);
}

extern "C" int flock(int file, int how) noexcept {
  if (all().poor == 0) return real<int(int, int)>("flock")(file, how);
  errno = EBADF; // as of NFS for a lock of a folder
  return -1;
}

extern "C" int fdatasync(int file) { return flush("fdatasync", file); }

extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  static auto* const function = real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = function(clock, t);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) t->tv_sec += all().clock_shift;
  return result;
}

extern "C" int gettimeofday(timeval* t, void* zone) noexcept {
  static auto* const function = real<int(timeval*, void*)>("gettimeofday");
  const int result = function(t, zone);
  t->tv_sec += all().clock_shift;
  return result;
}

extern "C" time_t time(time_t* t) noexcept {
  static auto* const function = real<time_t(time_t*)>("time");
  const time_t now = function(nullptr) + all().clock_shift;
  if (t != nullptr) *t = now;
  return now;
}
