// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/device/copies.hpp"
#include "bench/pipeline/arrivals.hpp"
#include "gpu/memory/buffer.hpp"
#include "selection/packing/deliver.hpp"

namespace l3::bench {
namespace {

class copies {
public:
  /// Copies of `bytes`, a multiple of 48, so that a third of it is a multiple of 16.
  explicit copies(std::size_t bytes)
      : bytes_(bytes), source_(memory::allocate(bytes)), arrived_(memory::allocate(bytes)),
        on_device_(memory::allocate_on_device(bytes)), target_(memory::allocate_on_device(bytes)) {
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes_; i += sizeof(std::uint64_t))
      store(source_.data() + i, std::uint64_t{i} * odd_factor + 1);
    pageable_.assign(source_.data(), source_.data() + bytes_);
    one_.copy_in(on_device_.data(), source_.data(), bytes_);
    finish(one_);
  }

  /// Measures each of them in turn, `rounds` times.
  std::vector<copy_row> run(std::uint32_t rounds) {
    std::vector<copy_row> rows;
    std::vector<entrant> entrants;
    // The second and third numbers are the bytes that must have arrived here and there.
    const auto add = [&](const char* name, std::uint64_t counted, std::uint64_t here,
                         std::uint64_t there, std::function<void()> enqueue,
                         void (copies::*finish)() = &copies::finish_both) {
      rows.push_back({name, counted, {}});
      entrants.push_back({name, [this] { poison(); }, std::move(enqueue),
                          [=, this] { return is_right(here, there); },
                          [=, this] { (this->*finish)(); }});
    };
    add("host to device", bytes_, 0, bytes_, [this] { to_device(one_); });
    add("host to device from pageable memory", bytes_, 0, bytes_,
        [this] { one_.copy_in(target_.data(), pageable_.data(), bytes_); });
    add("device to host", bytes_, bytes_, 0, [this] { to_host(other_); });
    add("both at once", 2 * bytes_, bytes_, bytes_, [this] { to_device(one_), to_host(other_); });
    add("kernel to mapped host memory", bytes_, bytes_, 0, [this] { deliver(other_, bytes_); });
    add("host to device, a third leaves mapped", bytes_, bytes_ / 3, bytes_,
        [this] { to_device(one_), deliver(other_, bytes_ / 3); });
    // The daemon asks for the end of a frame every 50 µs. The other rows sleep until an event.
    add(
        "host to device, asked for", bytes_, 0, bytes_, [this] { to_device(one_); },
        &copies::ask_for_end);
    const std::size_t few = std::min(bytes_, std::size_t{48 << 10});
    const auto few_to_device = [=, this] { one_.copy_in(target_.data(), source_.data(), few); };
    add("48 KiB to the device", few, 0, few, few_to_device);
    add("48 KiB to the device, asked for", few, 0, few, few_to_device, &copies::ask_for_end);
    // Enough that a timing is as long as those over the link.
    constexpr std::uint32_t within = 16;
    add("within the device, read and written", within * 2 * bytes_, 0, bytes_, [this] {
      for (std::uint32_t i = 0; i < within; ++i)
        one_.copy_within(target_.data(), on_device_.data(), bytes_);
    });
    // Enough to make waking a sleeping host negligible, except after 48 KiB.
    constexpr std::uint32_t passes = 4;
    std::vector<timing> times = measure(entrants, {rounds, passes, start::in_turn, timer::wall});
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time = std::move(times[i]);
    return rows;
  }

private:
  using memory = cuda_memory;

  static constexpr std::uint64_t odd_factor = 0x9e3779b97f4a7c15U;

  void to_device(cuda_queue& q) { q.copy_in(target_.data(), source_.data(), bytes_); }
  void to_host(cuda_queue& q) { q.copy_out(arrived_.data(), on_device_.data(), bytes_); }
  /// As a frame's results are copied.
  void deliver(cuda_queue& q, std::uint64_t bytes) {
    const std::byte* const from = on_device_.data();
    constexpr std::uint32_t blocks = deliver_events::blocks_of_device;
    q.run(deliver_events{}, blocks, batch_view{}, frame_columns{},
          output_view{nullptr, {}, from, memory::on_device(arrived_.data()), bytes}, blocks);
  }

  void poison() {
    std::memset(arrived_.data(), poison_byte, bytes_);
    one_.copy_in(target_.data(), arrived_.data(), bytes_);
    finish(one_);
  }

  bool is_right(std::uint64_t here, std::uint64_t there) {
    if (std::memcmp(arrived_.data(), source_.data(), here) != 0) return false;
    if (there == 0) return true;
    one_.copy_out(arrived_.data(), target_.data(), there);
    finish(one_);
    return std::memcmp(arrived_.data(), source_.data(), there) == 0;
  }

  void finish_both() {
    one_.submit();
    other_.submit();
    finish(one_);
    finish(other_);
  }
  void ask_for_end() {
    std::string error;
    while (!one_.finish_for(std::chrono::seconds(1), error)) {
    }
    if (!error.empty()) throw std::runtime_error(error);
  }
  void finish(cuda_queue& q) {
    q.submit();
    if (const std::string error = q.finish(); !error.empty()) throw std::runtime_error(error);
  }

  std::size_t bytes_;
  buffer source_;                   // on the host
  std::vector<std::byte> pageable_; // the same bytes, not pinned
  buffer arrived_;                  // also on the host
  buffer on_device_;                // the same bytes as source_
  buffer target_;
  cuda_queue one_;
  cuda_queue other_;
};

} // namespace

std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds) {
  return copies(bytes).run(rounds);
}

entrant cuda_arrivals(std::span<const std::span<const std::byte>> from, std::uint32_t n) {
  return arrivals_entrant<cuda_queue>("the same buffers copied to the device", from, n);
}

} // namespace l3::bench
