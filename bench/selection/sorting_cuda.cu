// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh" // first: device forms of kernels need its block

#include <cub/device/device_segmented_sort.cuh>

#include "bench/selection/sorting.hpp"

namespace l3::bench {
namespace {

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
  void sort_by_library() {
    std::size_t bytes = scratch_.size();
    sort_by_cub(scratch_.data(), bytes);
  }

  [[nodiscard]] entrant by(std::string name, void (device_sorts::*sort)()) {
    return {std::move(name),
            [this] {
              cuda::check(cudaMemsetAsync(out_.data(), poison_byte, bytes_, stream_.get()),
                          "cannot poison");
              finish();
            },
            [this, sort] { (this->*sort)(); },
            [this] {
              copy(back_.data(), out_.data(), bytes_);
              return back_ == work_.sorted;
            },
            [this] { finish(); }};
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
  cuda::stream stream_; // destroyed first, which waits for pending work
};

} // namespace

sort_row sort_on_device(const sort_work& work, std::uint32_t rounds) {
  device_sorts sorts(work);
  const std::vector<entrant> entrants{sorts.by("sort_block", &device_sorts::sort_by_blocks),
                                      sorts.by("CUB", &device_sorts::sort_by_library)};
  std::vector<timing> times =
      measure(entrants, {rounds, device_passes, start::in_turn, timer::wall});
  return {cuda::device_name(), work.segments, work.keys_per_segment, "CUB", times[0], times[1]};
}

} // namespace l3::bench
