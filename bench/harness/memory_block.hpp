// SPDX-License-Identifier: Apache-2.0
// Memory for a bench, on huge pages if the system grants them, and touched before the measurement,
// so that page faults are not measured.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include <sys/mman.h>

namespace l3::bench {

class memory_block {
public:
  explicit memory_block(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    at_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    ::madvise(at_, bytes, MADV_HUGEPAGE); // a hint
    std::memset(at_, 0, bytes);
  }
  explicit memory_block(std::span<const std::byte> content) : memory_block(content.size()) {
    if (!content.empty()) std::memcpy(at_, content.data(), content.size());
  }
  ~memory_block() {
    if (bytes_ != 0) ::munmap(at_, bytes_);
  }
  memory_block(const memory_block&) = delete;
  memory_block& operator=(const memory_block&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(at_), bytes_};
  }
  /// The memory as an array of T; a page is aligned for any type.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {static_cast<T*>(at_), bytes_ / sizeof(T)};
  }

private:
  void* at_ = nullptr;
  std::size_t bytes_;
};

} // namespace l3::bench
