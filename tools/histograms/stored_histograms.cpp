// SPDX-License-Identifier: Apache-2.0
#include "tools/histograms/stored_histograms.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/verify/store_folder.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/histograms/addition.hpp"

namespace l3 {
namespace {

/// "spill 3 of run 7, node 0"
std::string name_of(const shown_histograms& h) {
  return fmt::format("spill {} of run {}, node {}", h.spill.value_or(0), h.run, h.node.value_or(0));
}

class adder {
public:
  adder(std::string from, const stored_choice& choice) : from_(std::move(from)), choice_(choice) {}

  void take(const block_header& block, std::span<const std::byte> entries) {
    if (choice_.run.value_or(block.run) != block.run) return;
    if (choice_.node.value_or(block.node) != block.node) return;
    entry_walk walk(entries);
    while (const auto entry = walk.next())
      if (entry->key == histograms_key) take(block, entry->content);
  }

  [[nodiscard]] shown_histograms sum() {
    if (!sum_)
      throw command_error(fmt::format(
          "{} holds no such histograms: no selection ran, histograms.one_in was 0, a version "
          "before them wrote it, or none of its spills was asked for",
          from_));
    return std::move(*sum_);
  }

private:
  void take(const block_header& block, std::string_view text) {
    shown_histograms h;
    try {
      h = read_histograms(text);
    } catch (const std::runtime_error& e) {
      throw command_error(fmt::format("{}: block {} of session {:016x} holds no histograms that "
                                      "this version reads: {}",
                                      from_, block.sequence, block.session, e.what()));
    }
    if (choice_.spill && h.spill != choice_.spill) return;
    const std::string name = name_of(h);
    if (!sum_) {
      sum_ = std::move(h);
      first_ = name;
    } else if (const std::string why = add(*sum_, h); !why.empty()) {
      throw command_error(fmt::format("{}: the histograms of {} and of {} cannot be added up: {}. "
                                      "Choose with --run, --node or --spill",
                                      from_, first_, name, why));
    }
  }

  std::string from_;
  stored_choice choice_;
  std::optional<shown_histograms> sum_;
  std::string first_;
};

template <class Reader>
void read_all(Reader& in, adder& to, const std::string& name) {
  std::vector<std::byte> entries;
  while (const auto block = in.next()) {
    if (block->header.settings_bytes == 0) continue;
    if (!in.read_entries(*block, entries))
      throw command_error(fmt::format("{}: block {} of session {:016x}, which may hold "
                                      "histograms, is damaged: `koto-l3 info` shows what is",
                                      name, block->header.sequence, block->header.session));
    to.take(block->header, entries);
  }
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
                                        const stored_choice& choice, const stop_question& stop) {
  adder to(from.string(), choice);
  if (std::filesystem::is_directory(from)) {
    check_store(from);
    store_reader in(from, stop);
    read_all(in, to, from.string());
  } else {
    const bool spool = from.filename().string().starts_with("spool-");
    store_file in(from, spool ? store_kind::spool : store_kind::store, stop);
    read_all(in, to, from.string());
  }
  return to.sum();
}

} // namespace l3
