// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/general_codecs.hpp"

#include <algorithm>
#include <memory>

#ifdef L3_BENCH_LZ4
#include <lz4.h>
#endif
#ifdef L3_BENCH_LZMA
#include <lzma.h>
#endif
#ifdef L3_BENCH_ZSTD
#include <zstd.h>
#endif

namespace l3::bench {
namespace {

using input = std::span<const std::byte>;
using output = std::span<std::byte>;

std::string named(const char* codec, int level) {
  return std::string(codec) + " -" + std::to_string(level);
}

#ifdef L3_BENCH_ZSTD
general_codec zstd(int level) {
  const std::shared_ptr<ZSTD_CCtx> compressor(ZSTD_createCCtx(), ZSTD_freeCCtx);
  const std::shared_ptr<ZSTD_DCtx> decompressor(ZSTD_createDCtx(), ZSTD_freeDCtx);
  const auto size = [](std::size_t n) { return ZSTD_isError(n) != 0 ? 0 : n; };
  return {named("zstd", level),
          [=](input in, output out) {
            return size(ZSTD_compressCCtx(compressor.get(), out.data(), out.size(), in.data(),
                                          in.size(), level));
          },
          [=](input in, output out) {
            return size(ZSTD_decompressDCtx(decompressor.get(), out.data(), out.size(), in.data(),
                                            in.size()));
          }};
}
#endif

#ifdef L3_BENCH_LZ4
const char* chars(input in) { return reinterpret_cast<const char*>(in.data()); }
char* chars(output out) { return reinterpret_cast<char*>(out.data()); }

general_codec lz4() {
  const auto size = [](int n) { return n < 0 ? std::size_t{0} : static_cast<std::size_t>(n); };
  return {"lz4",
          [=](input in, output out) {
            return size(LZ4_compress_default(chars(in), chars(out), static_cast<int>(in.size()),
                                             static_cast<int>(out.size())));
          },
          [=](input in, output out) {
            return size(LZ4_decompress_safe(chars(in), chars(out), static_cast<int>(in.size()),
                                            static_cast<int>(out.size())));
          }};
}
#endif

#ifdef L3_BENCH_LZMA
const std::uint8_t* lzma_bytes(input in) {
  return reinterpret_cast<const std::uint8_t*>(in.data());
}
std::uint8_t* lzma_bytes(output out) { return reinterpret_cast<std::uint8_t*>(out.data()); }

general_codec xz(int level) {
  return {named("xz", level),
          [level](input in, output out) -> std::size_t {
            std::size_t n = 0;
            return lzma_easy_buffer_encode(static_cast<std::uint32_t>(level), LZMA_CHECK_CRC64,
                                           nullptr, lzma_bytes(in), in.size(), lzma_bytes(out), &n,
                                           out.size()) == LZMA_OK
                       ? n
                       : 0;
          },
          [](input in, output out) -> std::size_t {
            std::uint64_t memory_limit = UINT64_MAX;
            std::size_t taken = 0;
            std::size_t n = 0;
            return lzma_stream_buffer_decode(&memory_limit, 0, nullptr, lzma_bytes(in), &taken,
                                             in.size(), lzma_bytes(out), &n, out.size()) == LZMA_OK
                       ? n
                       : 0;
          }};
}
#endif

} // namespace

std::vector<general_codec> general_codecs() {
  std::vector<general_codec> all;
#ifdef L3_BENCH_ZSTD
  all.push_back(zstd(1));
  all.push_back(zstd(19));
#endif
#ifdef L3_BENCH_LZ4
  all.push_back(lz4());
#endif
#ifdef L3_BENCH_LZMA
  all.push_back(xz(6));
#endif
  return all;
}

} // namespace l3::bench
