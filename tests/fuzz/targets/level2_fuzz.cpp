// SPDX-License-Identifier: Apache-2.0
// Level 2 into the event builder. Over UDP: any datagrams, right ones and wrong ones in any order,
// with pauses, and frames that are busy. Over TCP: the record stream, its parts one by one, and
// event records as a connection hands them over, among events that come as datagrams. Whatever
// comes, the sums agree, and no event comes out twice.
#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/file/record_parser.hpp"

namespace l3::test {
namespace {

/// Small enough to be made for every input.
rig_options options_of(fuzz_input& in) {
  GTEST_FLAG_SET(throw_on_failure, true);
  rig_options o;
  o.crates = {{{4, 1, board_kind::sampling_125_mhz}, {15, 2, board_kind::sampling_500_mhz}}};
  o.batch_events = 2;
  o.parked = 2;
  o.max_events = 64;
  o.ring = 8;
  const auto how = in.byte();
  if ((how & 1) != 0) o.incomplete = incomplete_events::forward;
  if ((how & 2) != 0) o.chunk_bytes = 544;
  if ((how & 4) != 0) o.batches = 2;
  return o;
}

/// Ends everything, and the sums must agree.
void settle(rig& r) {
  r.pool.hold(false);
  r.pool.stop(false);
  r.drain();
  r.expect_balance();
  require(r.builder.open_events() == 0 && r.builder.open_fragments() == 0, "nothing stays open");
}

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
  sender(fuzz_input& in, rig& r) : in_(in), r_(r), second_(r.builder, r.options.ring, r.input) {}

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
      r_.builder.enter(r_.ring, r_.now);
      r_.builder.end_round(r_.ring, r_.now);
      r_.builder.leave(r_.ring, r_.now);
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
    r_.send(datagrams, in_.flag() ? second_ : r_.ring);
  }

  fuzz_input& in_;
  rig& r_;
  landing_ring second_;
  std::uint64_t sent_ = 0;
};

void parse_parts(std::span<const std::byte> any) {
  if (any.size() >= sizeof(record_header)) {
    auto h = load<record_header>(any.data());
    (void)check_header(h);
    h.magic = record_magic;
    h.version = record_version;
    h.header_crc = header_crc(h);
    if (!check_header(h)) {
      require(h.body_bytes <= max_record_body, "a good record is within the limit");
      require(h.spill < 512, "a good record has a spill number");
    }
    (void)check_body(h, any.subspan(sizeof(record_header)));
  }
  hello said;
  if (!parse_hello(any, said)) {
    const auto again = hello_bytes(said.run, said.crates);
    require(again.size() == any.size(), "a hello says what it says in as many bytes");
    hello once_more;
    require(!parse_hello(again, once_more) && once_more.run == said.run &&
                once_more.crates == said.crates,
            "a hello that is made of what was read reads the same");
  }
  for (const auto& crates : {small_readout(), readout::koto()}) {
    event_view event;
    if (parse_event(any, crates, event)) continue;
    std::size_t sum = event_table_bytes(event.fragments.size());
    for (const auto& f : event.fragments) {
      require(f.bytes.size() <= l2::max_fragment_bytes && f.crate < crates.size(),
              "a fragment keeps to the limits");
      sum += round_up(f.bytes.size(), 4);
    }
    require(sum == any.size(), "the fragments are the body");
    require(any.size() <= max_event_body(crates), "no body is longer than the longest");
  }
}

class connection {
public:
  connection(fuzz_input& in, rig& r) : in_(in), r_(r), stream_(max_event_body(r.options.crates)) {
    r_.builder.attach(stream_, 1);
  }
  ~connection() { r_.builder.detach(stream_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void step() {
    const auto spill = in_.below(3);
    switch (in_.below(8)) {
    case 0: (void)r_.builder.begin_of_spill(stream_, spill, r_.now); break;
    case 1: (void)r_.builder.end_of_spill(stream_, spill, in_.byte(), in_.below(8), r_.now); break;
    case 2: r_.pass(std::chrono::milliseconds(in_.number<std::uint16_t>() % 3000)); break;
    case 3: r_.pool.hold(in_.flag()); break;
    case 4: r_.send(r_.event({spill, 1 + in_.below(8)})); break;
    case 5: event(spill, in_.bytes(in_.number<std::uint16_t>())); break;
    default: {
      auto body = event_record_body({spill, 1 + in_.below(8)}, r_.options.crates);
      in_.damage(body);
      if (in_.flag()) body.resize(in_.number<std::uint16_t>() % (body.size() + 1));
      event(spill, body);
    }
    }
  }

private:
  /// As a connection does: room, the bytes in two parts with time between, then the record.
  void event(std::uint32_t spill, std::span<const std::byte> body) {
    if (body.size() < sizeof(event_body) || body.size() > max_event_body(r_.options.crates)) return;
    if (!r_.builder.reserve(stream_, body.size(), r_.now)) return;
    const std::size_t first = in_.number<std::uint16_t>() % (body.size() + 1);
    write(body, 0, first);
    if (in_.flag()) r_.pass(std::chrono::milliseconds(10));
    write(body, first, body.size());
    (void)r_.builder.take_event(stream_, spill, r_.now);
  }
  void write(std::span<const std::byte> body, std::size_t from, std::size_t to) {
    auto* const memory = r_.builder.enter(stream_);
    std::copy(body.begin() + static_cast<std::ptrdiff_t>(from),
              body.begin() + static_cast<std::ptrdiff_t>(to), memory + from);
    r_.builder.leave(stream_, to);
  }

  fuzz_input& in_;
  rig& r_;
  stream_landing stream_;
};

void take_datagrams(fuzz_input& in) {
  rig r(options_of(in));
  sender from(in, r);
  while (!in.empty()) from.step();
  settle(r);
  require(r.counters.data_chunks + r.counters.trailers + r.counters.ends_of_spill +
                  r.input.refused.sum() ==
              from.sent(),
          "datagrams = data + trailers + ends of spill + refused");
}

void take_records(fuzz_input& in) {
  rig r(options_of(in));
  {
    connection from(in, r);
    while (!in.empty()) from.step();
  } // its spill ends with it
  settle(r);
}

} // namespace

void fuzz(fuzz_input& in) {
  switch (in.below(3)) {
  case 0: take_datagrams(in); break;
  case 1: take_records(in); break;
  default: parse_parts(in.rest());
  }
}

} // namespace l3::test
