// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/record_maker.hpp"

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"

namespace l3 {

std::size_t record_maker::bytes_of(const replay_step& s) const {
  const auto body = [&] {
    switch (s.type) {
    case record_type::event: return source_.spills()[s.of.spill].events[s.event].body.size();
    case record_type::begin_of_spill: return sizeof(begin_of_spill_body);
    default: return sizeof(end_of_spill_body);
    }
  };
  return sizeof(record_header) + body();
}

record_maker::record record_maker::hello(std::uint64_t sequence) {
  small_body_ = hello_bytes(source_.run(), source_.crates());
  return {sealed_header(record_type::hello, 0, sequence,
                        static_cast<std::uint32_t>(small_body_.size()), crc32c(small_body_)),
          small_body_};
}

record_maker::record record_maker::make(const replay_step& s, std::uint64_t sequence) {
  const auto& spill = source_.spills()[s.of.spill];
  const auto number = source_.spill_number(spill, s.of.loop);
  const auto sealed = [&](std::span<const std::byte> body, std::uint32_t crc) {
    return record{
        sealed_header(s.type, number, sequence, static_cast<std::uint32_t>(body.size()), crc),
        body};
  };
  const auto sealed_small = [&](const auto& body) {
    small_body_.resize(sizeof body);
    store(small_body_.data(), body);
    return sealed(small_body_, crc32c(small_body_));
  };
  switch (s.type) {
  case record_type::event: {
    const auto& e = spill.events[s.event];
    if (number == spill.number) return sealed(e.body, e.body_crc);
    const auto changed = changer_.change(e.body, spill.number, number);
    return sealed(changed, crc32c(changed));
  }
  case record_type::begin_of_spill:
    return sealed_small(begin_of_spill_body{whole_nanoseconds(spill.beam_on), 0});
  default: return sealed_small(end_of_spill_body{s.events, 0, whole_nanoseconds(spill.cycle)});
  }
}

} // namespace l3
