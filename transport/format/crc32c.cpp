// SPDX-License-Identifier: Apache-2.0
#include "transport/format/crc32c.hpp"

#include <array>

#include "transport/format/endian.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace l3 {
namespace {

/// A polynomial of degree below 32 times x, modulo Castagnoli's. The highest bit is x^0.
constexpr std::uint32_t times_x(std::uint32_t p) {
  constexpr std::uint32_t castagnoli = 0x82f63b78;
  return p >> 1 ^ ((p & 1) != 0 ? castagnoli : 0);
}

constexpr std::uint32_t power_of_x(std::uint32_t exponent) {
  std::uint32_t p = 1U << 31;
  for (std::uint32_t i = 0; i < exponent; ++i) p = times_x(p);
  return p;
}

constexpr auto of_byte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) table[byte] = times_x(table[byte]);
  }
  return table;
}();

std::uint32_t by_table(std::uint32_t state, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes)
    state = state >> 8 ^ of_byte[(state ^ load<std::uint8_t>(&b)) & 0xff];
  return state;
}

#if defined(__x86_64__)

/// The instruction takes three cycles, and one can begin in each: three parts are read side by
/// side.
constexpr std::size_t part = 1024;

/// crc32 of a product by this power moves a state over `bytes` zeros: the carry-less product of
/// mirrored numbers is one bit short, and the instruction appends 32.
constexpr std::uint32_t over(std::size_t bytes) {
  return power_of_x(static_cast<std::uint32_t>(8 * bytes - 33));
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t
by_instruction(std::uint32_t first, std::span<const std::byte> bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  const auto moved =
      [](std::uint64_t state, std::uint32_t power) __attribute__((target("sse4.2,pclmul"))) {
    const auto product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(state)),
                                              _mm_cvtsi32_si128(static_cast<int>(power)), 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
  };
  std::uint64_t state = first;
  for (; bytes.size() >= 3 * part; bytes = bytes.subspan(3 * part)) {
    const std::byte* const p = bytes.data();
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t at = 0; at < part; at += word) {
      state = _mm_crc32_u64(state, load<std::uint64_t>(p + at));
      second = _mm_crc32_u64(second, load<std::uint64_t>(p + part + at));
      third = _mm_crc32_u64(third, load<std::uint64_t>(p + 2 * part + at));
    }
    state = third ^ _mm_crc32_u64(0, moved(state, over(2 * part)) ^ moved(second, over(part)));
  }
  for (; bytes.size() >= word; bytes = bytes.subspan(word))
    state = _mm_crc32_u64(state, load<std::uint64_t>(bytes.data()));
  return by_table(static_cast<std::uint32_t>(state), bytes);
}

/// Folds 256 bytes to the next ones, while their products stay congruent; the rest is short.
__attribute__((target("avx512f,vpclmulqdq"))) std::uint32_t
by_folding(std::uint32_t state, std::span<const std::byte> bytes) {
  constexpr std::size_t step = 4 * sizeof(__m512i);
  if (bytes.size() < 2 * step) return by_instruction(state, bytes);
  const auto far = _mm512_set4_epi32(0, static_cast<int>(over(step)), 0,
                                     static_cast<int>(over(step + sizeof(std::uint64_t))));
  const __m512i* p = reinterpret_cast<const __m512i*>(bytes.data());
  __m512i folded[4];
  for (int i = 0; i < 4; ++i) folded[i] = _mm512_loadu_si512(p + i);
  folded[0] = _mm512_xor_si512(folded[0],
                               _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  for (bytes = bytes.subspan(step); bytes.size() >= step; bytes = bytes.subspan(step)) {
    p += 4;
    for (int i = 0; i < 4; ++i)
      folded[i] = _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(folded[i], far, 0x00),
                                            _mm512_clmulepi64_epi128(folded[i], far, 0x11),
                                            _mm512_loadu_si512(p + i), 0x96); // xor of three
  }
  return by_instruction(by_instruction(0, std::as_bytes(std::span(folded))), bytes);
}

#endif

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0)
    return ~by_folding(~previous, bytes);
  if (__builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0)
    return ~by_instruction(~previous, bytes);
#endif
  return ~by_table(~previous, bytes);
}

} // namespace l3
