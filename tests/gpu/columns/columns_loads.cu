// SPDX-License-Identifier: Apache-2.0
// Compiled to PTX by a test, which looks for ld.global.nc: a device must find it behind a
// const_view, and not behind a view.
#include "gpu/columns/soa.hpp"

namespace l3::test {

template <template <class> class column>
struct loaded_fields {
  column<std::uint32_t> number;
  column<vector_of<float, 2>> position;
  column<scalar<std::uint16_t>> factor;
};
using loaded = soa<loaded_fields>;

template <class View>
__device__ float sum(const View& v, std::uint32_t i) {
  return static_cast<float>(v.number[i] + v[i].number + *v.factor) + v.position[i][1];
}

extern "C" __global__ void by_view(loaded::view v, float* out) { *out = sum(v, threadIdx.x); }
extern "C" __global__ void by_const_view(loaded::const_view v, float* out) {
  *out = sum(v, threadIdx.x);
}

} // namespace l3::test
