// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, it makes a disk worse than it is. The file that KOTO_L3_LYING_DISK
// names holds three numbers: an errno with which every fsync and fdatasync fails as long as it is
// not 0, how often one did, and how many bytes more than there are a file system says to be free:
// who looks before he writes is then told only by the write itself, as with quotas or thin volumes.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

namespace {

struct orders {
  std::int64_t error;
  std::int64_t failed;
  std::int64_t more_free;
};

orders& all() {
  static orders* const found = [] {
    const char* const name = std::getenv("KOTO_L3_LYING_DISK");
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
  const std::int64_t error = std::atomic_ref(all().error).load();
  if (error == 0) return real<int(int)>(name)(file);
  std::atomic_ref(all().failed).fetch_add(1);
  errno = static_cast<int>(error);
  return -1;
}

int told(int result, struct statvfs* s) {
  if (result == 0) {
    const auto more =
        static_cast<fsblkcnt_t>(std::atomic_ref(all().more_free).load()) / s->f_frsize;
    s->f_bavail += more;
    s->f_bfree += more;
  }
  return result;
}

} // namespace

extern "C" int fsync(int file) { return flush("fsync", file); }
extern "C" int fdatasync(int file) { return flush("fdatasync", file); }
extern "C" int statvfs(const char* path, struct statvfs* s) noexcept {
  return told(real<int(const char*, struct statvfs*)>("statvfs")(path, s), s);
}
extern "C" int fstatvfs(int file, struct statvfs* s) noexcept {
  return told(real<int(int, struct statvfs*)>("fstatvfs")(file, s), s);
}
