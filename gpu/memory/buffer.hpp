// SPDX-License-Identifier: Apache-2.0
// Memory that the program reserves and touches once, at the start, and divides into columns. A
// `buffer` owns bytes on the host or on a device; a `region` returns parts of them, aligned to
// cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "gpu/memory/column.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

/// Owns bytes on the host or on a device, and carries the function that releases them.
class buffer {
public:
  using releaser = void (*)(std::byte*, std::size_t);

  buffer() = default;
  buffer(std::byte* data, std::size_t size, releaser release)
      : data_(data), size_(size), release_(release) {}
  buffer(buffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)),
        release_(o.release_) {}
  buffer& operator=(buffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(release_, o.release_);
    return *this;
  }
  ~buffer() {
    if (data_ != nullptr) release_(data_, size_);
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  releaser release_ = nullptr;
};

/// Memory of the CPU executors: kernels read in place what the host writes.
struct host_memory {
  static constexpr bool has_device = false;

  /// Memory that is zeroed, touched and page-aligned. Throws std::runtime_error if the machine has
  /// too little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
};

/// Returns parts of a buffer from its start. A region without a buffer only counts, so that the
/// same code first computes the required memory and then takes it.
class region {
public:
  static constexpr std::size_t alignment = 128;

  region() = default;
  explicit region(const buffer& memory) : data_(memory.data()) {}

  template <class T>
  column<T> take(std::uint32_t n) {
    return {static_cast<T*>(take_bytes(std::size_t{n} * sizeof(T))), n};
  }
  void* take_bytes(std::size_t n, std::size_t align = alignment) {
    used_ = round_up(used_, align);
    void* const at = data_ == nullptr ? nullptr : data_ + used_;
    used_ += n;
    return at;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

private:
  std::byte* data_ = nullptr;
  std::size_t used_ = 0;
};

} // namespace l3
