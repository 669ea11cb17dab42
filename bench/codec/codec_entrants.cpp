// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/codec_entrants.hpp"

#include <algorithm>
#include <cstring>

#include "bench/codec/general_codecs.hpp"
#include "bench/codec/plain_loop.hpp"
#include "bench/harness/streaming_copy.hpp"
#include "gpu/codec/waveforms.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {
namespace {

using input = std::span<const std::byte>;

/// An entrant's own input and output.
class memory {
public:
  memory(input content, std::size_t output_bytes)
      : in_(host_memory::allocate(content.size())), out_(host_memory::allocate(output_bytes)) {
    std::ranges::copy(content, in_.data());
  }
  [[nodiscard]] input in() const { return {in_.data(), in_.size()}; }
  [[nodiscard]] std::span<std::byte> out() const { return {out_.data(), out_.size()}; }

private:
  buffer in_;
  buffer out_;
};

/// Creates the entrants of one direction and size.
class field {
public:
  explicit field(std::span<const std::uint16_t> samples)
      : samples_(samples), plain_(std::as_bytes(samples)),
        records_(std::make_shared<std::vector<std::byte>>(max_bytes())) {
    records_->resize(plain_pack(samples, *records_));
  }

  codec_entrant copy() const {
    const auto m = std::make_shared<memory>(plain_, plain_.size());
    const auto run = [m] { std::memcpy(m->out().data(), m->in().data(), m->in().size()); };
    return {entrant_of("memcpy", m, run, gives_samples(m)), nullptr};
  }

  codec_entrant past_caches() const {
    const auto m = std::make_shared<memory>(plain_, plain_.size());
    const auto run = [m] { streaming_copy(m->in(), m->out()); };
    return {entrant_of("copy past caches", m, run, gives_samples(m)), nullptr};
  }

  template <class Pack>
  codec_entrant packer(const std::string& name, Pack pack) const {
    const auto m = std::make_shared<memory>(plain_, max_bytes());
    const auto used = std::make_shared<std::size_t>(0);
    const auto is_right = [m, used, expected = records_] {
      return std::ranges::equal(m->out().first(*used), *expected);
    };
    return {
        entrant_of(
            name, m, [m, used, pack] { *used = pack(samples_in(m->in()), m->out()); }, is_right),
        used};
  }

  template <class Unpack>
  codec_entrant unpacker(const std::string& name, Unpack unpack) const {
    const auto m = std::make_shared<memory>(*records_, plain_.size());
    return {entrant_of(
                name, m, [m, unpack] { unpack(m->in(), samples_in(m->out())); }, gives_samples(m)),
            std::make_shared<std::size_t>(records_->size())};
  }

  codec_entrant compressor(const general_codec& c) const {
    const auto m = std::make_shared<memory>(plain_, max_compressed_bytes(plain_.size()));
    const auto used = std::make_shared<std::size_t>(0);
    const auto is_right = [m, used, c, samples = samples_,
                           back = std::make_shared<std::vector<std::uint16_t>>(samples_.size())] {
      const auto bytes = std::as_writable_bytes(std::span(*back));
      std::ranges::fill(bytes, static_cast<std::byte>(poison_byte));
      return c.decompress(m->out().first(*used), bytes) == bytes.size() &&
             std::ranges::equal(*back, samples);
    };
    return {entrant_of(
                c.name, m, [m, used, c] { *used = c.compress(m->in(), m->out()); }, is_right),
            used};
  }

  codec_entrant decompressor(const general_codec& c) const {
    std::vector<std::byte> packed(max_compressed_bytes(plain_.size()));
    packed.resize(c.compress(plain_, packed));
    const auto m = std::make_shared<memory>(packed, plain_.size());
    return {entrant_of(
                c.name, m, [m, c] { c.decompress(m->in(), m->out()); }, gives_samples(m)),
            std::make_shared<std::size_t>(packed.size())};
  }

private:
  std::size_t max_bytes() const {
    return koto::max_packed_bytes(samples_.size() / koto::record_samples);
  }

  std::function<bool()> gives_samples(const std::shared_ptr<memory>& m) const {
    return [m, plain = plain_] { return std::ranges::equal(m->out(), plain); };
  }

  static entrant entrant_of(const std::string& name, const std::shared_ptr<memory>& m,
                            std::function<void()> run, std::function<bool()> is_right) {
    const auto spoil = [m] { std::memset(m->out().data(), poison_byte, m->out().size()); };
    return {name, spoil, std::move(run), std::move(is_right)};
  }

  std::span<const std::uint16_t> samples_;
  input plain_;
  std::shared_ptr<std::vector<std::byte>> records_; ///< expected output of packing
};

} // namespace

std::vector<entrant> entrants_of(std::span<const codec_entrant> all) {
  std::vector<entrant> out;
  out.reserve(all.size());
  for (const codec_entrant& e : all) out.push_back(e.what);
  return out;
}

std::vector<codec_entrant> codec_entrants(codec_direction direction,
                                          std::span<const std::uint16_t> samples) {
  const field f(samples);
  const bool packs = direction == codec_direction::pack;
  std::vector<codec_entrant> all{f.copy()};
  if (has_streaming_copy) all.push_back(f.past_caches());
  all.push_back(packs ? f.packer("plain scalar loop", plain_pack)
                      : f.unpacker("plain scalar loop", plain_unpack));
  const auto codecs = koto::waveform_codecs();
  for (auto c = codecs.rbegin(); c != codecs.rend(); ++c) {
    const std::string name = std::string("koto-l3, ") + c->name;
    const auto unpack = [c](std::span<const std::byte> in, std::span<std::uint16_t> out) {
      return c->unpack(in, out, koto::store_to::caches);
    };
    all.push_back(packs ? f.packer(name, c->pack) : f.unpacker(name, unpack));
  }
  return all;
}

std::vector<codec_entrant> codec_entrants(codec_direction direction,
                                          std::span<const std::uint16_t> samples,
                                          std::span<const general_codec> codecs) {
  const field f(samples);
  std::vector<codec_entrant> all;
  all.reserve(codecs.size());
  for (const general_codec& c : codecs)
    all.push_back(direction == codec_direction::pack ? f.compressor(c) : f.decompressor(c));
  return all;
}

} // namespace l3::bench
