// SPDX-License-Identifier: Apache-2.0
// CUDA devices have no form of encode_boards yet: the portable one has tables in host memory, and
// keeps the residuals of a board in the memory of one lane. engine.cpp refuses the codec there.
#pragma once

#include "gpu/executors/cuda.cuh"

namespace l3 {

template <>
inline constexpr bool can_encode<cuda_queue> = false;

} // namespace l3
