// SPDX-License-Identifier: Apache-2.0
// Replaces each *_cuda.cu in a program built without CUDA. The benches check for a device before
// they call any of it.
#include <stdexcept>

#include "bench/decode/decode_stand.hpp"
#include "bench/device/copies.hpp"
#include "bench/device/packing_work.hpp"
#include "bench/pipeline/arrivals.hpp"
#include "bench/selection/select_runner.hpp"
#include "bench/selection/sorting.hpp"

namespace l3::bench {
namespace {

[[noreturn]] void fail() { throw std::runtime_error("this program was built without CUDA"); }

} // namespace

decode_entrants make_cuda_decode_entrants(const decode_batch&, std::uint32_t) { fail(); }
std::vector<copy_row> cuda_copies(std::size_t, std::uint32_t) { fail(); }
entrant cuda_arrivals(std::span<const std::span<const std::byte>>, std::uint32_t) { fail(); }
packing_rows cuda_packing(const waveform_tile&, std::uint32_t, const packet_work*) { fail(); }
select_runner make_cuda_select_runner(const select_batch&, const selection_program&,
                                      const select_expected&) {
  fail();
}
sort_row sort_on_device(const sort_work&, std::uint32_t) { fail(); }

} // namespace l3::bench
