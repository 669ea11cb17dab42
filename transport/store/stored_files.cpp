// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_files.hpp"

#include <set>
#include <stdexcept>
#include <utility>

#include "transport/store/block_file.hpp"

namespace l3 {
namespace {

/// The good blocks; none if the file cannot be read at all.
session_tallies blocks_in(const held_folder& folder, std::uint64_t number) {
  session_tallies found;
  std::map<std::uint64_t, std::set<std::uint64_t>> seen; // a block that stands there twice is one
  try {
    store_file file(folder, number, store_kind::store);
    while (const auto block = file.next()) {
      const block_header& h = block->header;
      if (file.payload_is_right(*block) && seen[h.session].insert(h.sequence).second)
        found[h.session].add(h);
    }
  } catch (const std::runtime_error&) {
    found.clear();
  }
  return found;
}

/// What is in `before` and not in `now`. Which numbers these are is not known more closely.
session_tallies less(const session_tallies& before, const session_tallies& now) {
  const auto minus = [](std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); };
  session_tallies all;
  for (const auto& [session, was] : before) {
    const auto found = now.find(session);
    const block_tally is = found == now.end() ? block_tally() : found->second;
    if (is.blocks >= was.blocks) continue;
    const bool ahead = is.blocks == 0 || is.first > was.first;
    all[session] = {ahead ? was.first : is.last + 1, was.last,
                    was.blocks - is.blocks,          minus(was.events, is.events),
                    minus(was.bytes, is.bytes),      minus(was.repeated, is.repeated)};
  }
  return all;
}

} // namespace

void add(session_tallies& to, const session_tallies& more) {
  for (const auto& [session, blocks] : more) to[session].add(blocks);
}

stored_files::loss stored_files::look(const held_folder& folder) {
  loss all;
  for (auto& [number, file] : files_) {
    const std::string name = store_file_name(number);
    const auto seen = folder.look(name);
    if (seen && seen->is_file && *seen == file.as) continue;
    const bool is_file = seen && seen->is_file;
    const session_tallies found = is_file ? blocks_in(folder, number) : session_tallies();
    const session_tallies lost = less(file.blocks, found);
    if (!lost.empty()) {
      const auto why = is_file ? name_fault::file_changed
                       : seen  ? name_fault::file_taken
                               : name_fault::file_gone;
      all.files.push_back(name + ": " + make_error_code(why).message());
    }
    add(all.blocks, lost);
    file = {seen.value_or(file_look()), found};
  }
  return all;
}

} // namespace l3
