// SPDX-License-Identifier: Apache-2.0
#include "tests/device/device_memory.hpp"

#include <algorithm>

namespace l3::ptx {

namespace {
constexpr std::uint64_t alignment = 256; ///< of cudaMalloc
constexpr std::uint64_t gap = 4096;      ///< without memory, behind each allocation
constexpr auto undefined = std::byte{0xcd};
} // namespace

std::uint64_t device_memory::place(std::span<std::byte> memory, std::unique_ptr<std::byte[]> own) {
  const std::uint64_t at = next_;
  next_ = (at + memory.size() + gap + alignment - 1) / alignment * alignment;
  by_address_.try_emplace(at, at, memory).first->second.own = std::move(own);
  return at;
}

std::uint64_t device_memory::allocate(std::size_t bytes) {
  auto own = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const std::span memory(own.get(), bytes);
  std::ranges::fill(memory, undefined);
  return place(memory, std::move(own));
}

std::uint64_t device_memory::map(std::span<std::byte> host) { return place(host, nullptr); }

bool device_memory::free(std::uint64_t address) {
  last_found_ = nullptr;
  return by_address_.erase(address) != 0;
}

allocation* device_memory::find(std::uint64_t address, std::uint64_t bytes) {
  const auto holds = [&](const allocation& a) {
    return address >= a.address && address - a.address <= a.bytes.size() &&
           bytes <= a.bytes.size() - (address - a.address);
  };
  if (last_found_ != nullptr && holds(*last_found_)) return last_found_;
  auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  allocation& candidate = std::prev(after)->second;
  if (!holds(candidate)) return nullptr;
  last_found_ = &candidate;
  return last_found_;
}

} // namespace l3::ptx
