// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>

#include <cub/device/device_segmented_sort.cuh>

#include "bench/selection/sorting.hpp"
#include "gpu/executors/cuda.cuh"

namespace l3::bench {
namespace {

/// In one timing: waking the host is then no part of it.
constexpr std::uint32_t passes = 16;

class device_sorts {
public:
  explicit device_sorts(const sort_work& work)
      : work_(work), bytes_(work.keys.size() * sizeof(std::uint64_t)),
        in_(cuda_memory::allocate_on_device(bytes_)), out_(cuda_memory::allocate_on_device(bytes_)),
        offsets_(cuda_memory::allocate_on_device((work.segments + 1) * sizeof(int))),
        back_(work.keys.size()), stream_(cuda::make_stream()) {
    std::vector<int> offsets;
    for (std::uint32_t s = 0; s <= work.segments; ++s)
      offsets.push_back(static_cast<int>(s * work.keys_per_segment));
    copy(in_.data(), work.keys.data(), bytes_);
    copy(offsets_.data(), offsets.data(), offsets.size() * sizeof(int));
    std::size_t needed = 0;
    sort_by_cub(nullptr, needed);
    scratch_ = cuda_memory::allocate_on_device(needed);
  }

  void sort_by_blocks() {
    const auto size = static_cast<std::uint32_t>(work_.keys.size());
    run_block<sort_segments, column<const std::uint64_t>, column<std::uint64_t>, std::uint32_t>
        <<<work_.segments, sort_segments::width, 0, stream_.get()>>>(
            sort_segments{}, {in(), size}, {out(), size}, work_.keys_per_segment);
    cuda::check(cudaGetLastError(), "cannot sort in blocks");
  }
  void sort_by_cub() {
    std::size_t bytes = scratch_.size();
    sort_by_cub(scratch_.data(), bytes);
  }

  /// Seconds of one pass; `right` stays true if what came out is.
  double time(const std::function<void()>& sort, bool& right) {
    constexpr int poison = 0xa5;
    cuda::check(cudaMemsetAsync(out_.data(), poison, bytes_, stream_.get()), "cannot poison");
    finish();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t pass = 0; pass < passes; ++pass) sort();
    finish();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    copy(back_.data(), out_.data(), bytes_);
    right = right && back_ == work_.sorted;
    return took.count() / passes;
  }

private:
  [[nodiscard]] const std::uint64_t* in() const {
    return reinterpret_cast<const std::uint64_t*>(in_.data());
  }
  [[nodiscard]] std::uint64_t* out() const { return reinterpret_cast<std::uint64_t*>(out_.data()); }

  void sort_by_cub(std::byte* scratch, std::size_t& bytes) {
    const int* const begins = reinterpret_cast<const int*>(offsets_.data());
    cuda::check(cub::DeviceSegmentedSort::SortKeys(
                    scratch, bytes, in(), out(), static_cast<int>(work_.keys.size()),
                    static_cast<int>(work_.segments), begins, begins + 1, stream_.get()),
                "CUB cannot sort");
  }
  void copy(void* to, const void* from, std::size_t n) {
    cuda::check(cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, stream_.get()), "cannot copy");
    finish();
  }
  void finish() { cuda::check(cudaStreamSynchronize(stream_.get()), "cannot sort on the device"); }

  const sort_work& work_;
  std::size_t bytes_;
  buffer in_;
  buffer out_;
  buffer offsets_;
  buffer scratch_; // CUB's
  std::vector<std::uint64_t> back_;
  cuda::stream stream_; // goes first, and waits for what is in it
};

} // namespace

sort_row sort_on_device(const sort_work& work, std::uint32_t rounds) {
  device_sorts sorts(work);
  std::vector<double> ours;
  std::vector<double> theirs;
  bool ours_right = true;
  bool theirs_right = true;
  constexpr std::uint32_t warming_rounds = 1;
  for (std::uint32_t round = 0; round < warming_rounds + rounds; ++round) {
    const double us = sorts.time([&] { sorts.sort_by_blocks(); }, ours_right);
    const double them = sorts.time([&] { sorts.sort_by_cub(); }, theirs_right);
    if (round < warming_rounds) continue;
    ours.push_back(us);
    theirs.push_back(them);
  }
  sort_row row{cuda::device_name(), work.segments,  work.keys_per_segment, "CUB",
               summary(ours),       summary(theirs)};
  row.ours.right = ours_right;
  row.theirs.right = theirs_right;
  return row;
}

} // namespace l3::bench
