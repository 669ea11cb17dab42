// SPDX-License-Identifier: Apache-2.0
// Makes records of the record stream, byte by byte from docs/formats.md, for the tests of the
// input.
#pragma once

#include <utility>
#include <vector>

#include "tests/transport/building/level2.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/record.hpp"

namespace l3::test {

/// Places of crates and fragments.
using fragment_list = std::vector<std::pair<std::uint16_t, bytes>>;

inline fragment_list event_fragments(event_key key, const readout& crates) {
  fragment_list all;
  for (std::uint32_t c = 0; c < crates.size(); ++c)
    all.emplace_back(static_cast<std::uint16_t>(c), make_fragment(key, c, crates.crates[c]));
  return all;
}

template <class T>
void append(bytes& to, const T& value) {
  const auto at = to.size();
  to.insert(to.end(), sizeof value, std::byte{});
  store(to.data() + at, value);
}

inline bytes event_record_body(std::uint32_t number, const fragment_list& fragments) {
  bytes body;
  append(body, event_body{number, static_cast<std::uint32_t>(fragments.size()), 0});
  for (const auto& [crate, f] : fragments)
    append(body, event_fragment{crate, 0, static_cast<std::uint32_t>(f.size())});
  for (const auto& [crate, f] : fragments) {
    body.insert(body.end(), f.begin(), f.end());
    body.insert(body.end(), round_up(f.size(), 4) - f.size(), std::byte{});
  }
  return body;
}

inline bytes event_record_body(event_key key, const readout& crates) {
  return event_record_body(key.number, event_fragments(key, crates));
}

inline bytes record(record_type type, std::uint32_t spill, std::uint64_t sequence,
                    const bytes& body) {
  record_header h;
  h.type = type;
  h.spill = spill;
  h.sequence = sequence;
  h.body_bytes = static_cast<std::uint32_t>(body.size());
  h.body_crc = crc32c(body);
  h.header_crc = header_crc(h);
  bytes all;
  append(all, h);
  all.insert(all.end(), body.begin(), body.end());
  return all;
}

} // namespace l3::test
