// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/selection/select_runner.hpp"

namespace l3::bench {

select_runner make_cuda_select_runner(const select_batch&, const selection_program&,
                                      const select_expected&) {
  throw std::runtime_error("this program was built without CUDA");
}

} // namespace l3::bench
