// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/sampled_check.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"
#include "tests/selection/engine/payload_textbook.hpp"

namespace l3::test {
namespace {

const auto events = make_events(6, 3, 4, 23);

class a_packed_frame : public testing::Test {
protected:
  a_packed_frame()
      : made_(make_engine({backend::serial, 0}, {capacity_for(events, 1400), 1})),
        f_(*made_->frames()[0]) {
    randomness r(1);
    fill(f_, events, 1400, r); // fragments in pieces, some raw, some empty
    made_->start(f_);
    EXPECT_TRUE(made_->wait(f_));
  }

  std::unique_ptr<engine> made_;
  frame& f_;
  sampled_check check_{1, 1};
};

TEST_F(a_packed_frame, unpacks_to_what_came_in) {
  for (std::size_t e = 0; e < events.size(); ++e) EXPECT_EQ(check_.wrong_with(f_, e), "");
}

TEST_F(a_packed_frame, is_found_to_be_wrong_wherever_a_byte_of_the_input_is_another) {
  for (std::size_t e = 0; e < events.size(); ++e) {
    const event_entry& event = f_.input.events[e];
    for (std::uint32_t k = 0; k < event.fragments; ++k) {
      const fragment_entry& fragment = f_.input.fragments[event.first_fragment + k];
      if (fragment.bytes == 0) continue;
      for (const std::uint32_t at : {0U, fragment.bytes / 2, fragment.bytes - 1}) {
        auto* const b = const_cast<std::byte*>(
            byte_of(f_.input.bytes.data(), f_.input.pieces.data(), fragment, at));
        *b ^= std::byte{1};
        EXPECT_NE(check_.wrong_with(f_, e), "") << "event " << e << ", fragment " << k;
        *b ^= std::byte{1};
      }
    }
  }
}

TEST_F(a_packed_frame, is_found_to_be_wrong_wherever_a_byte_of_the_data_is_another) {
  for (std::size_t e = 0; e < events.size(); ++e) {
    const event_result& r = f_.results[e];
    const event_entry& event = f_.input.events[e];
    const std::size_t tables = sizeof(packed_event) + event.fragments * sizeof(packed_fragment) +
                               event.boards * sizeof(packed_board);
    for (std::size_t at = (tables + 7) / 8 * 8; at + 8 < r.bytes; at += 61) {
      std::byte& b = f_.output_memory[r.offset + at];
      for (const std::byte bit : {std::byte{1}, std::byte{0x80}}) { // no sample has the latter
        b ^= bit;
        EXPECT_NE(check_.wrong_with(f_, e), "") << "event " << e << ", byte " << at;
        b ^= bit;
      }
    }
  }
}

TEST_F(a_packed_frame, is_found_to_be_wrong_if_results_point_elsewhere) {
  std::vector<event_result> results(f_.results.begin(), f_.results.end());
  f_.results = results;
  std::swap(results[0].offset, results[1].offset);
  std::swap(results[0].bytes, results[1].bytes);
  EXPECT_NE(check_.wrong_with(f_, 0), "");
  results[2].offset = f_.output.size() - 8;
  EXPECT_NE(check_.wrong_with(f_, 2), "");
  results[3].offset = ~std::uint64_t{0};
  EXPECT_NE(check_.wrong_with(f_, 3), "");
}

/// Events of lines that leave waveforms out, packed by a device with these tables.
class without_waveforms : public testing::Test {
protected:
  using see_event = std::function<void(sampled_check&, frame&, std::size_t)>;

  /// Shows all events, with the check of the right tables.
  void see_all(const host_tables& device, const see_event& see) {
    engine_limits limits{capacity_for(events_, 1400), 1};
    limits.batch.events = 1;
    limits.own_input = false;
    const selection_program right = selecting_.loaded().program();
    sampled_check check(5, 1, make_engine({backend::serial, 0}, limits, &right));
    selection_program wrong = right;
    wrong.tables = device.view();
    selecting_.run({backend::serial, 0}, events_, 60, 1, 1, wrong, [&](frame& f) {
      for (std::size_t e = 0; e < f.input.used_events; ++e) see(check, f, e);
    });
  }
  /// Shows those of which something is left out.
  void see_limited(const host_tables& device, const see_event& see) {
    see_all(device, [&](sampled_check& check, frame& f, std::size_t e) {
      if (f.summaries[e].payload != event_payload::all) see(check, f, e);
    });
  }

  const std::vector<made_event> events_ = make_selected_events(120, 25);
  const small_selecting selecting_{limiting_selection()};
};

TEST_F(without_waveforms, events_are_right_if_the_lines_leave_them_out) {
  std::array<int, event_payloads> seen{};
  see_limited(selecting_.loaded().tables, [&](sampled_check& check, frame& f, std::size_t e) {
    EXPECT_EQ(check.wrong_with(f, e), "");
    ++seen[static_cast<std::size_t>(f.summaries[e].payload)];
  });
  for (std::size_t p = 1; p < seen.size(); ++p) EXPECT_GT(seen[p], 0) << p;
}

/// Well-formed events with a mask that lacks bits, and without the records that belong to them.
TEST_F(without_waveforms, events_are_wrong_if_a_loud_one_is_lost) {
  host_tables deaf = selecting_.loaded().tables;
  for (input_levels& l : deaf.levels) l.low = 0, l.high = l2::payload_mask;
  int found = 0;
  see_limited(deaf, [&](sampled_check& check, frame& f, std::size_t e) {
    if (f.summaries[e].payload != event_payload::suppressed) return;
    const event_result& r = f.results[e];
    EXPECT_TRUE(packed_event_view::parse(f.output.subspan(r.offset, r.bytes)));
    found += check.wrong_with(f, e).ends_with("its packed bytes differ from the CPU's") ? 1 : 0;
    EXPECT_NE(sampled_check(5, 1).wrong_with(f, e), "") << "no line drops any";
  });
  EXPECT_GT(found, 0);
}

TEST_F(without_waveforms, events_are_right_whether_kept_or_rejected) {
  std::array<int, 2> seen{};
  see_all(selecting_.loaded().tables, [&](sampled_check& check, frame& f, std::size_t e) {
    EXPECT_EQ(check.wrong_with(f, e), "");
    ++seen[f.results[e].kept != 0 ? 1 : 0];
  });
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
}

/// One bit of a table: the threshold of crystals.
TEST_F(without_waveforms, events_are_wrong_if_a_device_decides_otherwise) {
  host_tables flipped = selecting_.loaded().tables;
  flipped.constants.crystal_threshold ^= 1 << 16;
  std::set<std::string> found;
  see_all(flipped, [&](sampled_check& check, frame& f, std::size_t e) {
    const std::string wrong = check.wrong_with(f, e);
    if (!wrong.empty()) found.insert(wrong.substr(wrong.find(": ") + 2));
  });
  EXPECT_TRUE(found.contains("was rejected, but the CPU keeps it"));
  EXPECT_TRUE(found.contains("its summary differs from the CPU's"));
}

TEST_F(without_waveforms, events_are_wrong_if_a_pulse_is_another) {
  int changed = 0;
  see_limited(selecting_.loaded().tables, [&](sampled_check& check, frame& f, std::size_t e) {
    if (f.summaries[e].payload != event_payload::features) return;
    const event_result& r = f.results[e];
    const auto view = packed_event_view::parse(f.output.subspan(r.offset, r.bytes));
    ASSERT_TRUE(view);
    for (std::uint32_t k = 0; k < view->fragments(); ++k) {
      for (const auto& data : limited_data(*view, k)) {
        if (data.size() < sizeof(packed_pulse)) continue; // no pulse
        auto& sum = const_cast<std::byte&>(data.back());
        sum ^= std::byte{1};
        EXPECT_NE(check.wrong_with(f, e), "");
        sum ^= std::byte{1};
        ++changed;
      }
    }
  });
  EXPECT_GT(changed, 0);
}

TEST(sampled_check, chooses_about_one_in_so_many_and_the_same_ones_everywhere) {
  const sampled_check one(7, 1000);
  const sampled_check same(7, 1000);
  const sampled_check other_run(8, 1000);
  int chosen = 0;
  int by_both_runs = 0;
  for (std::uint32_t spill = 0; spill < 10; ++spill) {
    for (std::uint32_t number = 1; number <= 10000; ++number) {
      const event_entry e{.spill = spill, .number = number};
      chosen += one.chosen(e) ? 1 : 0;
      by_both_runs += one.chosen(e) && other_run.chosen(e) ? 1 : 0;
      EXPECT_EQ(one.chosen(e), same.chosen(e));
    }
  }
  EXPECT_GT(chosen, 60); // of 100 expected, four standard deviations
  EXPECT_LT(chosen, 140);
  EXPECT_LT(by_both_runs, 10);
  const event_entry any{.spill = 3, .number = 4};
  EXPECT_TRUE(sampled_check(7, 1).chosen(any));
  EXPECT_FALSE(sampled_check(7, 0).chosen(any));
}

} // namespace
} // namespace l3::test
