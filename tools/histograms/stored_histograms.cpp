// SPDX-License-Identifier: Apache-2.0
#include "tools/histograms/stored_histograms.hpp"

#include <array>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "monitor/in_words.hpp"
#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/histograms/histogram_json.hpp"

namespace l3 {
namespace {

/// "spill 3 of run 7, node 0"
std::string name_of(const shown_histograms& h) {
  return fmt::format("spill {} of run {}, node {}", h.spill.value_or(0), h.run, h.node.value_or(0));
}

class adder {
public:
  adder(std::string from, const stored_choice& choice) : from_(std::move(from)), choice_(choice) {}

  /// Whether the block may have histograms of the requested run and node.
  [[nodiscard]] bool wants(const block_header& block) {
    ++blocks_;
    if (block.settings_bytes == 0) return false;
    runs_.insert(block.run);
    return choice_.run.value_or(block.run) == block.run &&
           choice_.node.value_or(block.node) == block.node;
  }
  void take(const block_header& block, std::span<const std::byte> entries) {
    entry_walk walk(entries);
    while (const auto entry = walk.next())
      if (entry->key == histograms_key) take(block, entry->content);
  }
  void miss(const std::string& why) { missed_.push_back(why); }
  /// One line for each unreadable block.
  [[nodiscard]] const std::vector<std::string>& missed() const { return missed_; }

  [[nodiscard]] shown_histograms sum() {
    if (!sum_ && choice_.run && !runs_.empty() && !runs_.contains(*choice_.run))
      throw command_error(fmt::format("{} has no histograms of run {}: it holds {}", from_,
                                      *choice_.run, runs_in_words(runs_)));
    if (!sum_) throw command_error(fmt::format("{} {}", from_, why_none()));
    return std::move(*sum_);
  }

private:
  [[nodiscard]] std::string why_none() const {
    if (blocks_ == 0) return "holds no blocks, so no histograms";
    if (!missed_.empty()) return "holds no histograms that can be read: see above";
    if (others_ > 0) return "holds no histograms of that spill, only of others";
    if (choice_.run || choice_.node) return "holds no histograms of that run and node";
    return "holds no histograms: no selection ran, histograms.one_in was 0, the spills had not "
           "ended, or an older version wrote it";
  }

  void take(const block_header& block, std::string_view text) {
    shown_histograms h;
    try {
      h = read_histograms(text);
      if (h.run != block.run || h.node != block.node)
        throw std::runtime_error("their run or node differs from their block's");
    } catch (const std::runtime_error& e) {
      miss(fmt::format("{}: block {} of session {:016x} holds no histograms that this "
                       "version reads: {}",
                       from_, block.sequence, block.session, e.what()));
      return;
    }
    if (choice_.spill && h.spill != choice_.spill) {
      ++others_;
      return;
    }
    const std::string name = name_of(h);
    if (!sum_) {
      sum_ = std::move(h);
      first_ = name;
    } else if (const std::string why = add(*sum_, h); !why.empty()) {
      throw command_error(fmt::format("{}: the histograms of {} and {} cannot be added: {}. Choose "
                                      "with --run, --node or --spill",
                                      from_, first_, name, why));
    }
  }

  std::string from_;
  stored_choice choice_;
  std::set<std::uint32_t> runs_; ///< of blocks that may have histograms
  std::vector<std::string> missed_;
  std::uint64_t blocks_ = 0;
  std::uint64_t others_ = 0; ///< histograms of other spills
  std::optional<shown_histograms> sum_;
  std::string first_;
};

template <class Reader>
void read_all(Reader& in, adder& to, const std::filesystem::path& from) {
  std::vector<std::byte> entries;
  while (const auto block = in.next()) {
    if (!to.wants(block->header)) continue;
    if (in.read_entries(*block, entries))
      to.take(block->header, entries);
    else
      to.miss(fmt::format("{}: block {} of session {:016x}, which may hold histograms, is damaged: "
                          "`koto-l3 info` shows the damage",
                          from.string(), block->header.sequence, block->header.session));
  }
  if (in.damaged() > 0)
    to.miss(
        fmt::format("{}: at {} places a block is missing or damaged", from.string(), in.damaged()));
}

} // namespace

bool is_stored(const std::filesystem::path& name) {
  if (std::filesystem::is_directory(name)) return true;
  if (!std::filesystem::is_regular_file(name)) return false;
  std::array<char, 4> begin{};
  std::ifstream in(name, std::ios::binary);
  in.read(begin.data(), begin.size());
  return in && (begin == store_file_header{}.magic);
}

shown_histograms read_stored_histograms(const std::filesystem::path& from,
                                        const stored_choice& choice, const stop_question& stop,
                                        const std::function<void(const std::string&)>& missed) {
  adder to(from.string(), choice);
  if (std::filesystem::is_directory(from)) {
    check_store(from);
    store_reader in(from, stop);
    read_all(in, to, from);
  } else {
    const bool spool = from.filename().string().starts_with("spool-");
    store_file in(from, spool ? store_kind::spool : store_kind::store, stop);
    read_all(in, to, from);
  }
  for (const std::string& why : to.missed()) missed(why);
  return to.sum();
}

} // namespace l3
