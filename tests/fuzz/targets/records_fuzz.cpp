// SPDX-License-Identifier: Apache-2.0
// The record stream: its parts one by one, and event records into the event builder as a connection
// hands them over, among events that come as datagrams.
#include "tests/fuzz/targets/rig_of_fuzz.hpp"
#include "tests/transport/building/records.hpp"
#include "transport/file/record_parser.hpp"

namespace l3::test {
namespace {

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

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  fuzz_input in(data, bytes);
  if (in.flag()) {
    parse_parts(in.rest());
    return 0;
  }
  rig r(options_of(in));
  {
    connection from(in, r);
    while (!in.empty()) from.step();
  } // its spill ends with it
  settle(r);
  return 0;
}
