// SPDX-License-Identifier: Apache-2.0
// The way of an event through the kernels, whatever its boards hold: fragments of any bytes are
// judged as they are when an event has arrived, what is carried of them is packed on the serial
// executor, by both codecs, and what was packed gives the same bytes back.
#include <array>
#include <vector>

#include "gpu/codec/decode_all.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/basic_engine.hpp"
#include "selection/packing/packing_plan.hpp"
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

/// One event through a frame of one event.
class packer {
public:
  packer()
      : settings_(building()), limits_{capacity_of(settings_.crates, 1, settings_.chunk_bytes), 1},
        engine_("serial", limits_, [] { return serial_queue(); }),
        strong_("serial", strong_on(limits_), [] { return serial_queue(); }) {}

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
    admission::write(event, {}, f.input);
    engine_.start(f);
    require(engine_.wait(f), "a CPU computes");
    compare(f, key, sent);
    frame& same = *strong_.frames()[0];
    same.input = f.input;
    strong_.start(same);
    require(strong_.wait(same), "a CPU computes");
    compare(same, key, sent);
  }

private:
  [[nodiscard]] static engine_limits strong_on(engine_limits limits) {
    limits.codec = codec_id::strong;
    limits.own_input = false;
    return limits;
  }

  static void compare(const frame& f, event_key key, const std::array<bytes, 3>& sent) {
    require(f.results.size() == 1 && f.results[0].kept != 0 &&
                f.results[0].bytes <= f.output.size(),
            "the event is packed");
    const auto packed = packed_event_view::parse(f.output.first(f.results[0].bytes));
    require(packed.has_value(), "what was packed is an event");
    require(packed->key() == key, "it is the one that was sent");
    require(packed->fragments() == f.input.used_fragments, "it has the fragments that came");
    std::vector<std::byte> rebuilt;
    for (std::uint32_t i = 0; i < packed->fragments(); ++i) {
      require(rebuild_fragment(*packed, i, rebuilt, strong::decode_all),
              "what was packed is unpacked");
      require(rebuilt == sent[packed->fragment(i).crate], "fragments come back as they were");
    }
  }

  building_settings settings_;
  engine_limits limits_;
  basic_engine<serial_queue, packing_plan<keep_all>> engine_;
  basic_engine<serial_queue, packing_plan<keep_all>> strong_; ///< the strong codec, on its input
};

} // namespace

void fuzz(fuzz_input& in) {
  static packer packs;
  packs.run(in);
}

} // namespace l3::test
