// SPDX-License-Identifier: Apache-2.0
// The way of an event through the kernels, whatever its boards hold: fragments of any bytes are
// judged as they are when an event has arrived, what is carried of them is packed on the serial
// executor, by both codecs, and what was packed gives the same bytes back. Then lines that leave
// waveforms out keep the event: what is there is the same, and what is not lies within its levels.
#include <array>
#include <memory>
#include <string>

#include "gpu/executors/serial.hpp"
#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/packing/one_pass_plan.hpp"
#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/transport/building/level2.hpp"
#include "transport/building/admission.hpp"
#include "transport/store/event_view.hpp"

namespace l3::test {
namespace {

constexpr std::size_t most_any_bytes = 4096;

building_settings building() {
  building_settings s;
  s.crates = small_readout();
  s.incomplete = incomplete_events::forward;
  return s;
}

/// Boards that are nearly right, or anything.
bytes any_fragment(fuzz_input& in, event_key key) {
  if (in.flag()) {
    const auto any = in.bytes(in.number<std::uint16_t>() % most_any_bytes);
    return {any.begin(), any.end()};
  }
  std::vector<board_recipe> boards(in.below(3));
  for (std::uint32_t b = 0; b < boards.size(); ++b) {
    boards[b].slot = 3 + b + in.below(2);
    boards[b].time = in.number<std::uint32_t>();
    if (!in.flag()) continue;
    boards[b].opaque_samples = in.number<std::uint16_t>() % (l2::sample_words + 1U);
    boards[b].compression_words = in.below(l2::max_compression_words + 1);
  }
  auto fragment = make_fragment(key, boards);
  in.damage(fragment);
  if (in.flag()) fragment.resize(in.number<std::uint16_t>() % (fragment.size() + 1));
  return fragment;
}

/// Crystals on the first crate, a barrel and a wall on the second, counters of 256 samples on the
/// third; an input without a part on each of the last two.
detector fuzzed_detector() {
  detector d(small_readout());
  const auto crystals = d.run_of_inputs({4, l2::first_slot, 0}, 32);
  for (std::uint32_t i = 0; i < crystals.size(); ++i) {
    crystal c;
    c.x = 25.0 * (i % 8);
    c.y = 25.0 * (i / 8);
    c.size = 25;
    c.counts_per_mev = 12;
    c.at = crystals[i];
    d.add_crystal(c);
  }
  const auto add = [&](const char* name, std::uint32_t modules, input_address first) {
    veto v;
    v.name = name;
    v.modules = modules;
    v.threshold = 1;
    v.window_from = -15;
    v.window_to = 15;
    v.counts_per_unit = 30;
    v.inputs = d.run_of_inputs(first, modules);
    if (v.name == "barrel") v.shape.form = veto_shape::kind::barrel;
    d.add_veto(v);
  };
  add("barrel", 16, {7, 3, 0});
  add("wall", 15, {7, 4, 0});
  add("beam", 7, {15, 3, 0});
  d.set_trigger_board({7, 4, 0});
  signal_figures s;
  s.noise_typical = 2;
  s.noise_min = 1;
  s.noise_max = 3;
  s.pedestal_min = 300;
  s.pedestal_max = 900;
  s.pulse_time = 204;
  s.attenuation_length = 2700;
  s.light_speed = 181;
  d.set_signals(s);
  return d;
}

/// A line that keeps every event, and of it so much. The samples are drawn from all that fit their
/// words, so a level far above a pedestal leaves some waveforms out.
class limiting {
public:
  limiting(event_payload payload, const engine_limits& limits, codec_id codec)
      : payload_(payload), detector_(fuzzed_detector()),
        settings_(parse_selection("[suppression]\nsigma = 7500.0\nseed_sigma = 8000.0\n"
                                  "[[line]]\nname = \"any\"\npayload = \"" +
                                      std::string(name_of(payload)) + "\"\n",
                                  "fuzzed")),
        tables_(make_tables(detector_, nominal_calibration(detector_), settings_, 1)) {
    selection_program program;
    for (const auto& step : settings_.sequence) program.sequence.push_back(step.value);
    program.tables = tables_.view();
    program.check_promises = true;
    engine_limits here = limits;
    here.codec = codec;
    here.own_input = false;
    engine_ = make_serial_engine(here, &program);
  }

  void run(const input_batch& in, const std::array<bytes, 3>& sent) {
    frame& f = *engine_->frames()[0];
    f.input = in;
    engine_->start(f);
    require(engine_->wait(f), "a CPU computes");
    const auto packed = packed_event_view::parse(f.output);
    require(packed.has_value(), "what a line keeps is an event");
    require(packed->header().payload == payload_, "it keeps what its line asks for");
    for (std::uint32_t i = 0; i < packed->fragments(); ++i) compare(*packed, i, sent);
  }

private:
  void compare(const packed_event_view& packed, std::uint32_t i, const std::array<bytes, 3>& sent) {
    const std::uint32_t place = packed.fragment(i).crate;
    require(rebuild_fragment(packed, i, rebuilt_), "what was packed is unpacked");
    require(rebuilt_.size() == sent[place].size(), "a fragment is as long as it was");
    for (const std::uint32_t at : absent_words(packed, i)) {
      require(load_big<std::uint16_t>(&rebuilt_[at]) == 0, "an absent word is no sample's");
      std::memcpy(&rebuilt_[at], &sent[place][at], sizeof(std::uint16_t));
    }
    require(rebuilt_ == sent[place], "what is there comes back as it was");
    if (payload_ == event_payload::suppressed) check_levels(packed, i, sent[place]);
  }

  /// Of the boards, which follow each other as long as none is raw.
  void check_levels(const packed_event_view& packed, std::uint32_t i, const bytes& sent) const {
    std::uint32_t board = packed.start_of(i).second;
    const auto kept = kept_records(packed, i);
    const crate_readout& crate = detector_.crates().crates[packed.fragment(i).crate];
    const auto channels = static_cast<std::uint32_t>(channels_of(crate.kind));
    std::size_t packet = l2::fragment_header_bytes;
    for (const std::uint16_t records : kept) {
      const packed_board b = packed.board(board++);
      if ((b.form & board_raw) != 0) {
        packet += b.bytes;
        continue;
      }
      for (std::uint32_t c = 0; c < channels; ++c) {
        if ((records >> (c * l2::waveforms_per_board / channels) & 1) != 0) continue;
        const std::uint32_t n =
            detector_.number_of({crate.number, b.slot, static_cast<std::uint8_t>(c)});
        for (std::uint32_t w = c; w < l2::sample_words; w += channels) {
          const std::uint32_t sample =
              load_big<std::uint16_t>(&sent[packet + 2 * (l2::header_words + w)]) &
              l2::payload_mask;
          require(tables_.levels[n].low <= sample && sample <= tables_.levels[n].high,
                  "what is absent is quiet");
        }
      }
      packet += l2::board_bytes;
    }
  }

  event_payload payload_;
  detector detector_;
  selection_settings settings_;
  host_tables tables_;
  std::unique_ptr<engine> engine_;
  std::vector<std::byte> rebuilt_;
};

/// One event through a frame of one event.
class packer {
public:
  packer()
      : settings_(building()), limits_{capacity_of(settings_.crates, 1, settings_.chunk_bytes),
                                       1,
                                       0,
                                       {},
                                       {}},
        engine_("serial", limits_, [] { return serial_queue(); }),
        strong_("serial", strong_on(limits_), [] { return serial_queue(); }) {
    for (const codec_id codec : {codec_id::koto, codec_id::strong})
      for (const auto payload :
           {event_payload::suppressed, event_payload::features, event_payload::summary})
        limiting_.push_back(std::make_unique<limiting>(payload, limits_, codec));
  }

  /// As many pieces as fragments: each lies in one, or in short ones.
  void run(fuzz_input& in) {
    const event_key key{in.number<std::uint16_t>() % 512U, 1U + in.number<std::uint16_t>()};
    frame& f = *engine_.frames()[0];
    f.input.clear();
    const std::uint32_t piece_bytes = in.flag() ? 8000 : 4 + 4 * std::uint32_t{in.byte()};

    std::array<bytes, 3> sent;
    std::array<std::vector<piece_offset>, 3> pieces;
    candidate_event event(settings_);
    event.key = key;
    std::size_t at = 0;
    for (std::uint8_t c = 0; c < sent.size(); ++c) {
      if (in.below(8) == 7) continue;
      sent[c] = any_fragment(in, key);
      for (std::size_t from = 0; from < sent[c].size(); from += piece_bytes) {
        const auto n = std::min<std::size_t>(piece_bytes, sent[c].size() - from);
        if (pieces[c].size() >= f.input.pieces.size() / sent.size()) return; // more than chunks are
        std::memcpy(f.input.bytes.subspan(at, n).data(), sent[c].data() + from, n);
        pieces[c].push_back(static_cast<piece_offset>(at));
        at = round_up(at + n, 4);
      }
      arrived_fragment arrived;
      arrived.crate = c;
      arrived.whole = true;
      arrived.where = {f.input.bytes.data(), pieces[c].data(), piece_bytes,
                       static_cast<std::uint32_t>(sent[c].size())};
      event.fragments.push_back(arrived);
    }
    f.input.used_bytes = at;

    building_counters counters;
    admission judge(settings_, counters);
    judge.look_into(event);
    if (!judge.judge(event).admit) return;
    admission::write(event, {}, admission::reserve(event, f.input), f.input);
    engine_.start(f);
    require(engine_.wait(f), "a CPU computes");
    compare(f, key, sent);
    frame& same = *strong_.frames()[0];
    same.input = f.input;
    strong_.start(same);
    require(strong_.wait(same), "a CPU computes");
    compare(same, key, sent);
    for (const auto& line : limiting_) line->run(f.input, sent);
  }

private:
  [[nodiscard]] static engine_limits strong_on(engine_limits limits) {
    limits.codec = codec_id::strong;
    limits.own_input = false;
    return limits;
  }

  static void compare(const frame& f, event_key key, const std::array<bytes, 3>& sent) {
    require(f.results.size() == 1 && f.results[0].kept && f.results[0].bytes == f.output.size(),
            "the event is packed");
    const auto packed = packed_event_view::parse(f.output);
    require(packed.has_value(), "what was packed is an event");
    require(packed->key() == key, "it is the one that was sent");
    require(packed->fragments() == f.input.used_fragments, "it has the fragments that came");
    std::vector<std::byte> rebuilt;
    for (std::uint32_t i = 0; i < packed->fragments(); ++i) {
      require(rebuild_fragment(*packed, i, rebuilt), "what was packed is unpacked");
      require(rebuilt == sent[packed->fragment(i).crate], "fragments come back as they were");
    }
  }

  building_settings settings_;
  engine_limits limits_;
  basic_engine<serial_queue, one_pass_plan> engine_;
  basic_engine<serial_queue, two_pass_plan<keep_all>> strong_; ///< the strong codec, on its input
  std::vector<std::unique_ptr<limiting>> limiting_;            ///< likewise
};

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  static packer packs;
  fuzz_input in(data, bytes);
  packs.run(in);
  return 0;
}
