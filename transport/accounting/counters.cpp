// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/counters.hpp"

namespace l3 {

std::string_view name_of(refused r) {
  switch (r) {
  case refused::too_short: return "too_short";
  case refused::too_long: return "too_long";
  case refused::fragment_id: return "fragment_id";
  case refused::chunk_index: return "chunk_index";
  case refused::chunk_length: return "chunk_length";
  case refused::discriminator: return "discriminator";
  case refused::wrong_spill: return "wrong_spill";
  case refused::stream_magic: return "stream_magic";
  case refused::stream_version: return "stream_version";
  case refused::stream_checksum: return "stream_checksum";
  case refused::stream_length: return "stream_length";
  case refused::stream_sequence: return "stream_sequence";
  case refused::stream_content: return "stream_content";
  case refused::connection_limit: return "connection_limit";
  case refused::source: return "source";
  case refused::count_: break;
  }
  return "unknown";
}

std::string_view name_of(malformed r) {
  switch (r) {
  case malformed::crate_header: return "crate_header";
  case malformed::crate_trailer: return "crate_trailer";
  case malformed::wrong_l1a: return "wrong_l1a";
  case malformed::wrong_spill: return "wrong_spill";
  case malformed::wrong_slot: return "wrong_slot";
  case malformed::header_tag: return "header_tag";
  case malformed::truncated: return "truncated";
  case malformed::trailing_bytes: return "trailing_bytes";
  case malformed::conflicting_chunks: return "conflicting_chunks";
  case malformed::chunk_count: return "chunk_count";
  case malformed::count_: break;
  }
  return "unknown";
}

std::string_view name_of(shed r) {
  switch (r) {
  case shed::no_frame: return "no_frame";
  case shed::engine: return "engine";
  case shed::drain: return "drain";
  case shed::spool: return "spool";
  case shed::priority: return "priority";
  case shed::count_: break;
  }
  return "unknown";
}

} // namespace l3
