// SPDX-License-Identifier: Apache-2.0
// L3_FN, the project's only macro, marks a function that may run on the host and on a device.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define L3_FN __host__ __device__
#else
#define L3_FN
#endif
