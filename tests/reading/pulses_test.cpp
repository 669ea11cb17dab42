// SPDX-License-Identifier: Apache-2.0
// Pulses from stored waveforms against those that the trigger stores in place of waveforms: of the
// same events, decided by the same lines with and without payload = "features".
#include "reading/pulses.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "selection/sequence/slots.hpp"
#include "tests/selection/engine/selection_cases.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"

namespace l3::test {
namespace {

using namespace l3::reading; // NOLINT(google-build-using-namespace)

/// Every line keeps features only.
std::string with_features() {
  std::string text = R"(sequence = ["measure_pulses", "find_clusters", "compute_quantities",
"match_ends", "judge_vetoes", "decide", "keep_waveforms"])"
                     "\n" +
                     std::string(small_selection);
  const std::string line = "[[line]]\n";
  for (std::size_t at = 0; (at = text.find(line, at)) != std::string::npos; at += line.size())
    text.insert(at + line.size(), "payload = \"features\"\n");
  return text;
}

struct measured_pulses {
  measured_pulses(std::size_t columns, std::size_t rows)
      : state(columns), pedestal(rows), peak(rows), edge(rows), peak_sample(rows), flags(rows),
        sum(rows), energy(rows), time(rows) {}

  std::vector<std::uint8_t> state;
  std::vector<std::uint16_t> pedestal, peak, edge;
  std::vector<std::uint8_t> peak_sample, flags;
  std::vector<std::int32_t> sum, energy, time;

  [[nodiscard]] std::vector<std::int64_t> row(std::size_t n) const {
    return {pedestal[n], peak[n], peak_sample[n], flags[n], edge[n], sum[n], energy[n], time[n]};
  }
};

/// The pulses of event `index` of the only block of a file.
measured_pulses measure(const stored_data& data, std::uint32_t index, const channel_plan& plan,
                        pulse_measurer& by, std::size_t rows) {
  measured_pulses found(plan.columns(), rows);
  void* const to[] = {found.pedestal.data(), found.peak.data(), found.peak_sample.data(),
                      found.flags.data(),    found.edge.data(), found.sum.data(),
                      found.energy.data(),   found.time.data()};
  const pulse_target target{to, 0, found.state};
  clear_pulses(target, rows, L3_READ_DAMAGED);
  payload_reader in(data);
  const unit& u = data.unit_of(0);
  const auto* const event = in.event(u, index);
  EXPECT_NE(event, nullptr);
  std::vector<found_board> boards;
  find_boards(*event, plan, boards);
  EXPECT_TRUE(by.measure(*event, boards, target));
  return found;
}

TEST(pulses_of_stored_waveforms, are_those_that_features_have) {
  const auto events = make_selected_events(200, 29);
  const small_selecting plain;
  const small_selecting limiting(with_features());
  for (const codec_id codec : {codec_id::koto, codec_id::strong}) {
    const auto whole = plain.select({backend::serial, 0}, events, 50, 1, 1, {}, codec);
    const auto limited = limiting.select({backend::serial, 0}, events, 50, 1, 1, {}, codec);
    const scratch_folder folder;
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < events.size(); ++k)
      if (limited[k].summary.kept != 0) kept.push_back(k);
    const auto store = [&](const std::vector<outcome>& all, const char* name) {
      std::vector<bytes> packed;
      for (const std::size_t k : kept) packed.push_back(all[k].packed);
      const auto head = head_of_file(1);
      const auto of_head = std::as_bytes(std::span(&head, 1));
      bytes file(of_head.begin(), of_head.end());
      bytes block = make_block(packed, 42, 1);
      auto header = load<block_header>(block.data());
      header.codec = codec;
      seal_header(header);
      l3::store(block.data(), header);
      file.insert(file.end(), block.begin(), block.end());
      const auto path = std::filesystem::path(folder.path()) / name;
      write_file(path, file);
      return std::make_unique<stored_data>(path, false, false);
    };
    const auto of_whole = store(whole, "whole.kl3");
    const auto of_limited = store(limited, "limited.kl3");
    std::size_t compared = 0;
    for (const std::uint32_t length : {64U, 256U}) {
      std::vector<channel_address> channels;
      const readout& crates = plain.loaded().what.crates();
      for (const crate_readout& crate : crates.crates)
        for (unsigned slot = 3; slot < 3U + crate.boards; ++slot)
          for (unsigned c = 0; c < l2::sample_words / length; ++c)
            channels.push_back(
                {crate.number, static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(c)});
      std::ranges::reverse(channels); // not in place
      const channel_plan plan(crates, channels, length);
      const channel_plan boards(crates, on_boards_of(channels, length), length);
      pulse_measurer by(plain.loaded(), plan, boards);
      const std::size_t rows = channels.size() * length / 64;
      for (std::uint32_t i = 0; i < kept.size(); ++i) {
        if (limited[kept[i]].summary.payload != event_payload::features) continue;
        const auto wanted = measure(*of_whole, i, plan, by, rows);
        const auto found = measure(*of_limited, i, plan, by, rows);
        for (std::size_t n = 0; n < rows; ++n) {
          const std::size_t c = n * 64 / length;
          if (wanted.state[c] != L3_READ_PRESENT) {
            ASSERT_EQ(found.state[c], wanted.state[c]);
          } else if (wanted.energy[n] != undefined_quantity) {
            ASSERT_EQ(found.state[c], L3_READ_PRESENT);
            ASSERT_EQ(found.row(n), wanted.row(n)) << "event " << kept[i] << ", row " << n;
            ++compared;
          } else if (found.state[c] == L3_READ_PRESENT) {
            ASSERT_EQ(found.flags[n] & pulse_found, 0);
          }
        }
      }
    }
    EXPECT_GT(compared, 1000U);
  }
}

} // namespace
} // namespace l3::test
