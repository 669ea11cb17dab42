// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/buffer.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

namespace l3 {

buffer host_memory::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    throw std::runtime_error("cannot reserve " + std::to_string(bytes >> 20) +
                             " MiB of memory for frames");
  }
  madvise(p, bytes, MADV_HUGEPAGE); // fewer TLB misses if the kernel grants it
  std::memset(p, 0, bytes);
  return {static_cast<std::byte*>(p), bytes,
          [](std::byte* data, std::size_t size) { munmap(data, size); }};
}

} // namespace l3
