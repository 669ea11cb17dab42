// SPDX-License-Identifier: Apache-2.0
// The memory of the imagined device. Device addresses lie where no host memory is, so that a host
// pointer in a kernel and a device pointer on the host are both noticed; between two allocations
// lie addresses without memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "tests/device/access_log.hpp"

namespace l3::ptx {

/// Memory that kernels reach under `address`.
struct allocation {
  std::uint64_t address = 0;
  std::span<std::byte> bytes;
  std::unique_ptr<std::byte[]> own; ///< null: the memory is pinned on the host
  access_log log;

  allocation(std::uint64_t at, std::span<std::byte> memory)
      : address(at), bytes(memory), log(memory.size()) {}
};

class device_memory {
public:
  /// Memory of the device, its content undefined: filled with a pattern.
  std::uint64_t allocate(std::size_t bytes);
  /// Makes pinned host memory reachable for kernels; returns its address there.
  std::uint64_t map(std::span<std::byte> host);
  /// False: no allocation begins there.
  bool free(std::uint64_t address);

  /// Null: not all of these bytes lie in one allocation.
  [[nodiscard]] allocation* find(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] std::size_t allocations() const { return by_address_.size(); }

private:
  std::uint64_t place(std::span<std::byte> memory, std::unique_ptr<std::byte[]> own);

  std::map<std::uint64_t, allocation> by_address_;
  allocation* last_found_ = nullptr;
  std::uint64_t next_ = std::uint64_t{1} << 45;
};

} // namespace l3::ptx
