// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/flac_codec.hpp"

#ifdef L3_BENCH_FLAC
#include <algorithm>
#include <cstring>
#include <memory>

#include <FLAC/stream_decoder.h>
#include <FLAC/stream_encoder.h>

#include "transport/format/endian.hpp"
#endif

namespace l3::bench {

#ifdef L3_BENCH_FLAC
namespace {

using input = std::span<const std::byte>;
using output = std::span<std::byte>;

constexpr FLAC__int32 middle = 1 << 15; // samples have no sign, those of FLAC have
constexpr unsigned bits = 16;

/// One direction: where it reads and writes.
struct stream {
  input in;
  output out;
  std::size_t read = 0;
  std::size_t written = 0;
  bool good = true;

  bool put(const void* from, std::size_t n) {
    good = good && n <= out.size() - written;
    if (!good) return false;
    std::memcpy(out.data() + written, from, n);
    written += n;
    return true;
  }
};

FLAC__StreamEncoderWriteStatus take_frame(const FLAC__StreamEncoder*, const FLAC__byte from[],
                                          std::size_t n, std::uint32_t, std::uint32_t, void* to) {
  return static_cast<stream*>(to)->put(from, n) ? FLAC__STREAM_ENCODER_WRITE_STATUS_OK
                                                : FLAC__STREAM_ENCODER_WRITE_STATUS_FATAL_ERROR;
}

std::size_t encode(input in, output out) {
  constexpr std::size_t at_once = 4096;
  constexpr std::uint32_t usual_level = 5;
  const std::unique_ptr<FLAC__StreamEncoder, decltype(&FLAC__stream_encoder_delete)> e(
      FLAC__stream_encoder_new(), FLAC__stream_encoder_delete);
  stream s{in, out};
  FLAC__stream_encoder_set_channels(e.get(), 1);
  FLAC__stream_encoder_set_bits_per_sample(e.get(), bits);
  FLAC__stream_encoder_set_compression_level(e.get(), usual_level);
  if (FLAC__stream_encoder_init_stream(e.get(), take_frame, nullptr, nullptr, nullptr, &s) !=
      FLAC__STREAM_ENCODER_INIT_STATUS_OK)
    return 0;
  FLAC__int32 samples[at_once];
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t n = std::min(at_once, (in.size() - at) / sizeof(std::uint16_t));
    for (std::size_t i = 0; i < n; ++i, at += sizeof(std::uint16_t))
      samples[i] = load<std::uint16_t>(in.data() + at) - middle;
    if (!FLAC__stream_encoder_process_interleaved(e.get(), samples, static_cast<std::uint32_t>(n)))
      return 0;
  }
  return FLAC__stream_encoder_finish(e.get()) && s.good ? s.written : 0;
}

FLAC__StreamDecoderReadStatus give_bytes(const FLAC__StreamDecoder*, FLAC__byte to[],
                                         std::size_t* n, void* from) {
  stream& s = *static_cast<stream*>(from);
  *n = std::min(*n, s.in.size() - s.read);
  std::memcpy(to, s.in.data() + s.read, *n);
  s.read += *n;
  return *n == 0 ? FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM
                 : FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

FLAC__StreamDecoderWriteStatus take_samples(const FLAC__StreamDecoder*, const FLAC__Frame* frame,
                                            const FLAC__int32* const channels[], void* to) {
  stream& s = *static_cast<stream*>(to);
  for (std::uint32_t i = 0; i < frame->header.blocksize; ++i) {
    const auto sample = static_cast<std::uint16_t>(channels[0][i] + middle);
    if (!s.put(&sample, sizeof sample)) return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }
  return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

void note_error(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus, void* of) {
  static_cast<stream*>(of)->good = false;
}

std::size_t decode(input in, output out) {
  const std::unique_ptr<FLAC__StreamDecoder, decltype(&FLAC__stream_decoder_delete)> d(
      FLAC__stream_decoder_new(), FLAC__stream_decoder_delete);
  stream s{in, out};
  if (FLAC__stream_decoder_init_stream(d.get(), give_bytes, nullptr, nullptr, nullptr, nullptr,
                                       take_samples, nullptr, note_error,
                                       &s) != FLAC__STREAM_DECODER_INIT_STATUS_OK)
    return 0;
  const bool ended = FLAC__stream_decoder_process_until_end_of_stream(d.get()) != 0;
  return ended && s.good ? s.written : 0;
}

} // namespace

general_codec flac() { return {"flac -5", encode, decode}; }
#else
general_codec flac() { return {"flac -5", {}, {}, "libflac"}; }
#endif

} // namespace l3::bench
