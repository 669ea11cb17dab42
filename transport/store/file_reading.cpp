// SPDX-License-Identifier: Apache-2.0
#include "transport/store/file_reading.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace l3 {
namespace {

constexpr std::uint64_t step = std::uint64_t{1} << 20;

bool may_have(const session_tallies& all, const block_header& block) {
  const auto of = all.find(block.session);
  return of != all.end() && of->second.may_have(block.sequence);
}

/// False: it is none of these, or they are all found.
bool takes(const session_tallies& expected, session_tallies& found, const block_header& block) {
  if (!may_have(expected, block)) return false;
  block_tally& of = found[block.session];
  if (of.blocks >= expected.at(block.session).blocks) return false;
  of.add(block);
  return true;
}

std::uint64_t blocks_in(const session_tallies& all) {
  std::uint64_t blocks = 0;
  for (const auto& [session, of] : all) blocks += of.blocks;
  return blocks;
}

} // namespace

file_reading::file_reading(std::uint64_t number, const file_look& as, session_tallies listed,
                           session_tallies lost)
    : number_(number), as_(as), listed_before_(std::move(listed)), lost_before_(std::move(lost)),
      blocks_(blocks_in(listed_before_) + blocks_in(lost_before_)) {}

/// None of what is no file of a store is found.
bool file_reading::go_on(const held_folder& folder, const std::string& name,
                         const stop_question& enough, bool a_step) {
  try {
    enough_ = &enough;
    a_step_ = a_step;
    if (!file_)
      file_.emplace(folder, name, number_, store_kind::store,
                    [this] { return may_pause_ && is_enough(); });
    read_blocks();
    return read_rest();
  } catch (const scan_stopped&) { // the next step goes on where this one was
    may_pause_ = false;
    return false;
  } catch (const std::system_error& e) {
    const bool gone =
        e.code() == std::errc::no_such_file_or_directory || e.code() == name_fault::not_a_file;
    if (!gone) error_ = e.code();
  } catch (const std::runtime_error&) { // another version, or no blocks at all
  }
  listed_.clear();
  lost_.clear();
  return true;
}

bool file_reading::is_enough() {
  const bool is = (*enough_)();
  return !std::exchange(a_step_, false) && is;
}

void file_reading::read_blocks() {
  while (!blocks_are_read_ && !has_all()) {
    may_pause_ = true;
    const auto block = file_->next();
    may_pause_ = false;
    if (!block) break;
    take(*block);
  }
  blocks_are_read_ = true;
}

void file_reading::take(const stored_block& block) {
  const block_header& h = block.header;
  if (!may_have(listed_before_, h) && !may_have(lost_before_, h)) return;
  if (!file_->payload_is_right(block) || !seen_.emplace(h.session, h.sequence).second) return;
  if (takes(listed_before_, listed_, h) || takes(lost_before_, lost_, h)) ++found_;
}

/// What is missing is perhaps only out of reach.
bool file_reading::read_rest() {
  const std::uint64_t size = has_all() ? 0 : file_->size();
  for (; reached_ < size; reached_ += step) {
    if (is_enough()) return false;
    if (file_->can_be_read(reached_, std::min(step, size - reached_))) continue;
    error_ = std::make_error_code(std::errc::io_error);
    break;
  }
  if (!has_all() && file_->refused()) error_ = file_->refused();
  return true;
}

} // namespace l3
