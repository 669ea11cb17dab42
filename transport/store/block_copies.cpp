// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_copies.hpp"

#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

/// As far as headers tell. Of one block, a receiver may have left out events that another session
/// has stored, and may have added settings; when it was sealed stays.
bool may_be_one_block(const block_header& a, const block_header& b) {
  if (a.events + a.repeated != b.events + b.repeated) return false;
  if (a.repeated != 0 || b.repeated != 0) return a.sealed_at == b.sealed_at;
  if (events_bytes(a) != events_bytes(b)) return false;
  return a.settings_bytes == b.settings_bytes ? a.payload_crc == b.payload_crc
                                              : a.sealed_at == b.sealed_at;
}

/// What is told of a file.
struct other_blocks {
  std::uint64_t count = 0;
  block_header first;
  std::string first_is_in; ///< the block of its name that counts
};

std::string text_of(const std::string& file, const other_blocks& others) {
  return fmt::format(
      "{}: {} blocks stand twice, with other contents than in {} (block {} of session "
      "{}): only the first of each is read",
      file, others.count, others.first_is_in, others.first.sequence,
      session_text(others.first.session));
}

} // namespace

bool is_empty_block(const block_header& block) {
  return events_bytes(block) == 0 && block.repeated == 0;
}

block_copies::kind block_copies::note(const block_header& block) {
  const block_name it = name_of(block);
  const bool is_empty = is_empty_block(block);
  if (found_[{block.session, std::get<1>(it)}].add(block.sequence)) {
    if (is_empty) empty_.insert(it);
    return kind::first;
  }
  twice_.insert(it);
  return !is_empty && empty_.erase(it) != 0 ? kind::behind_empty_ones : kind::once_more;
}

std::vector<std::string> block_copies::others_in(const std::filesystem::path& folder, store_kind of,
                                                 const std::function<bool()>& stop) const {
  std::vector<std::string> sentences;
  if (twice_.empty()) return sentences;
  const auto files = block_files_in(folder, of);
  std::map<block_name, std::pair<block_header, const block_file_name*>> firsts;
  for (const block_file_name& listed : files) {
    other_blocks others;
    try {
      store_file file(folder, listed, of, stop);
      while (const auto block = file.next()) {
        const block_header& h = block->header;
        if (is_empty_block(h) || !twice_.contains(name_of(h))) continue;
        const auto [first, is_new] = firsts.try_emplace(name_of(h), h, &listed);
        if (is_new || may_be_one_block(first->second.first, h)) continue;
        if (others.count++ == 0) {
          others.first = h;
          others.first_is_in = first->second.second->text(of);
        }
      }
    } catch (const std::runtime_error&) { // it is gone by now
    }
    if (others.count != 0) sentences.push_back(text_of(listed.text(of), others));
  }
  return sentences;
}

} // namespace l3
