// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/general_codecs.hpp"

#include <algorithm>
#include <memory>

#include <isa-l/igzip_lib.h>
#ifdef L3_BENCH_LZ4
#include <lz4.h>
#endif
#ifdef L3_BENCH_LZMA
#include <lzma.h>
#endif
#ifdef L3_BENCH_ZLIB
#include <zlib.h>
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

#ifdef L3_BENCH_ZLIB
const Bytef* zlib_bytes(input in) { return reinterpret_cast<const Bytef*>(in.data()); }
Bytef* zlib_bytes(output out) { return reinterpret_cast<Bytef*>(out.data()); }

general_codec zlib(int level) {
  return {named("zlib", level),
          [level](input in, output out) -> std::size_t {
            uLongf n = out.size();
            return compress2(zlib_bytes(out), &n, zlib_bytes(in), in.size(), level) == Z_OK ? n : 0;
          },
          [](input in, output out) -> std::size_t {
            uLongf n = out.size();
            return uncompress(zlib_bytes(out), &n, zlib_bytes(in), in.size()) == Z_OK ? n : 0;
          }};
}
#endif

std::uint8_t* isal_bytes(input in) { // the library takes its input as not const
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(in.data()));
}
std::uint8_t* isal_bytes(output out) { return reinterpret_cast<std::uint8_t*>(out.data()); }

general_codec igzip() {
  const auto level_buffer = std::make_shared<std::vector<std::uint8_t>>(ISAL_DEF_LVL1_DEFAULT);
  return {"isa-l igzip -1",
          [=](input in, output out) -> std::size_t {
            isal_zstream s;
            isal_deflate_stateless_init(&s);
            s.level = 1;
            s.level_buf = level_buffer->data();
            s.level_buf_size = static_cast<std::uint32_t>(level_buffer->size());
            s.end_of_stream = 1;
            s.next_in = isal_bytes(in);
            s.avail_in = static_cast<std::uint32_t>(in.size());
            s.next_out = isal_bytes(out);
            s.avail_out = static_cast<std::uint32_t>(out.size());
            return isal_deflate_stateless(&s) == COMP_OK ? s.total_out : 0;
          },
          [](input in, output out) -> std::size_t {
            inflate_state s;
            isal_inflate_init(&s);
            s.next_in = isal_bytes(in);
            s.avail_in = static_cast<std::uint32_t>(in.size());
            s.next_out = isal_bytes(out);
            s.avail_out = static_cast<std::uint32_t>(out.size());
            return isal_inflate_stateless(&s) == ISAL_DECOMP_OK ? s.total_out : 0;
          }};
}

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

std::vector<general_codec> general_codecs(codec_set set) {
  const bool is_wide = set == codec_set::wide;
  std::vector<general_codec> all;
#ifdef L3_BENCH_ZSTD
  all.push_back(zstd(1));
  if (is_wide) all.push_back(zstd(19));
#endif
#ifdef L3_BENCH_LZ4
  all.push_back(lz4());
#endif
#ifdef L3_BENCH_ZLIB
  all.push_back(zlib(is_wide ? 6 : 1));
#endif
  all.push_back(igzip());
#ifdef L3_BENCH_LZMA
  if (is_wide) all.push_back(xz(6));
#endif
  return all;
}

} // namespace l3::bench
