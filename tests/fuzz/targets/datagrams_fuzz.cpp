// SPDX-License-Identifier: Apache-2.0
// Level 2 over UDP into the event builder: any datagrams, right ones and wrong ones in any order,
// with pauses, and frames that are busy. Whatever comes, the sums agree, and no event comes out
// twice.
#include "tests/fuzz/targets/rig_of_fuzz.hpp"

namespace l3::test {
namespace {

wire_datagram any_datagram(fuzz_input& in, std::uint32_t chunk_bytes) {
  wire_datagram d{
      in.number<std::uint32_t>(), in.number<std::uint32_t>(), in.number<std::uint32_t>(), {}};
  d.payload.resize(in.number<std::uint16_t>() % (chunk_bytes + 1));
  const auto content = in.bytes(d.payload.size());
  std::copy(content.begin(), content.end(), d.payload.begin());
  return d;
}

event_key any_key(fuzz_input& in) { return {(in.below(4) + 510U) & 511U, 1 + in.below(8)}; }

class sender {
public:
  sender(fuzz_input& in, rig& r)
      : in_(in), r_(r), second_(r.options.strip, r.options.chunk_bytes) {}

  void step() {
    switch (in_.below(10)) {
    case 0: send({any_datagram(in_, r_.options.chunk_bytes)}); break;
    case 1: send(r_.event(any_key(in_))); break;
    case 2: part_of_event(); break;
    case 3: send(r_.ends_of_spill(any_key(in_).spill, 1 + in_.below(8))); break;
    case 4:
      send({end_of_spill(any_key(in_).spill, 4, 1 + in_.number<std::uint16_t>(), in_.below(4),
                         in_.below(4))});
      break;
    case 5: r_.pass(std::chrono::milliseconds(in_.number<std::uint16_t>() % 3000)); break;
    case 6: r_.pool.hold(in_.flag()); break;
    case 7: r_.pool.stop(in_.flag()); break;
    case 8:
      r_.builder.enter(r_.strip, r_.now);
      r_.builder.end_round(r_.strip, r_.input, r_.now);
      r_.builder.leave(r_.strip, r_.input, r_.now);
      break;
    default: send(r_.fragment(any_key(in_), in_.below(r_.options.crates.size()))); break;
    }
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
  void part_of_event() {
    const auto all = r_.event(any_key(in_));
    auto one = all[in_.below(static_cast<std::uint32_t>(all.size()))];
    in_.damage(one.payload);
    if (in_.flag()) one.payload.resize(in_.number<std::uint16_t>() % (one.payload.size() + 1));
    if (in_.flag()) one.discriminator ^= 1U << in_.below(32);
    if (in_.flag()) one.chunk = in_.byte();
    send({one});
  }
  void send(const std::vector<wire_datagram>& datagrams) {
    sent_ += datagrams.size();
    r_.send(datagrams, in_.flag() ? second_ : r_.strip);
  }

  fuzz_input& in_;
  rig& r_;
  landing_strip second_;
  std::uint64_t sent_ = 0;
};

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  fuzz_input in(data, bytes);
  rig r(options_of(in));
  sender from(in, r);
  while (!in.empty()) from.step();
  settle(r);
  require(r.counters.data_chunks + r.counters.trailers + r.counters.ends_of_spill +
                  r.input.refused.sum() ==
              from.sent(),
          "datagrams = data + trailers + ends of spill + refused");
  return 0;
}
