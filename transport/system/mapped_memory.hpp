// SPDX-License-Identifier: Apache-2.0
// Memory directly from the system: a page is allocated on first use, and everything is returned at
// the end, independent of other allocations.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace l3 {

class mapped_memory {
public:
  /// Throws std::bad_alloc.
  explicit mapped_memory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(at);
  }
  mapped_memory(mapped_memory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  mapped_memory& operator=(mapped_memory&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapped_memory() {
    if (begin_ != nullptr) ::munmap(begin_, bytes_);
  }

  [[nodiscard]] std::byte* data() { return begin_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace l3
