// SPDX-License-Identifier: Apache-2.0
// A collection owns the columns of a layout in one buffer: in host memory (this header), in pinned
// or in device memory (gpu/columns/device_collection.hpp). Its views are valid as long as it lives.
// Two collections of one layout and one length have the same arrangement of bytes, so `copy` copies
// one to the other as a whole, in any kind of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gpu/columns/soa.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3 {

/// Whether the host can read this kind of memory; false for device memory.
template <class Memory>
inline constexpr bool host_reads = true;

template <class Layout, class Memory>
class collection {
public:
  using layout = Layout;
  using view_type = typename Layout::view;
  using const_view_type = typename Layout::const_view;

  /// n rows of zeros. Throws std::runtime_error if there is not enough memory.
  explicit collection(std::uint32_t n)
      : memory_(Memory::allocate(round_up(Layout::bytes(n), region::alignment))),
        view_(Layout::over(bytes(), n)) {}

  /// The host must not read a view of device memory; kernels take it as an argument.
  [[nodiscard]] view_type view() { return view_; }
  [[nodiscard]] const_view_type view() const { return view_; }
  [[nodiscard]] const_view_type const_view() const { return view_; }
  [[nodiscard]] std::uint32_t size() const { return view_.size(); }

  [[nodiscard]] auto operator[](std::uint32_t i) requires host_reads<Memory> { return view_[i]; }
  [[nodiscard]] auto operator[](std::uint32_t i) const requires host_reads<Memory> {
    return const_view()[i];
  }

  /// The whole buffer, whose length is a multiple of region::alignment.
  [[nodiscard]] std::span<std::byte> bytes() { return {memory_.data(), memory_.size()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {memory_.data(), memory_.size()};
  }

private:
  buffer memory_;
  view_type view_;
};

template <class Layout>
using host_columns = collection<Layout, host_memory>;

/// A device queue does not copy from host to host, because such a copy would not wait for earlier
/// work. Finish the queue, then copy rows.
template <class Queue, class To, class From>
concept copied_in_order = !(Queue::memory::has_device && host_reads<To> && host_reads<From>);

/// Enqueues the copy of all rows of `from` to `to`, which has as many rows. Both must live until
/// the queue has finished. A queue on host memory has copied on return.
template <class Queue, class Layout, class To, class From>
requires copied_in_order<Queue, To, From>
void copy(Queue& queue, collection<Layout, To>& to, const collection<Layout, From>& from) {
  if (to.size() != from.size()) fail_range("copying rows", from.size(), to.size());
  const std::span<std::byte> out = to.bytes();
  const std::span<const std::byte> in = from.bytes();
  if constexpr (host_reads<To> && host_reads<From>) {
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
  } else if constexpr (host_reads<From>) {
    queue.copy_in(out.data(), in.data(), in.size());
  } else if constexpr (host_reads<To>) {
    queue.copy_out(out.data(), in.data(), in.size());
  } else {
    queue.copy_within(out.data(), in.data(), in.size());
  }
}

} // namespace l3
