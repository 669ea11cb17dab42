// SPDX-License-Identifier: Apache-2.0
// The processor's instruction sets, in the groups for which the codecs have forms. The compiler's
// functions detect them. Highway could too, but its library also measures the processor's clock
// when a program starts, which took a third of that start.
#pragma once

namespace l3 {

#if defined(__x86_64__)
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0;
}

inline bool has_avx512_vbmi() {
  return has_avx512() && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("avx512vnni") != 0 &&
         __builtin_cpu_supports("avx512bitalg") != 0 &&
         __builtin_cpu_supports("avx512vpopcntdq") != 0 && __builtin_cpu_supports("gfni") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}
#endif

} // namespace l3
