// SPDX-License-Identifier: Apache-2.0
// What a receiver answers to a forwarder, of any session, number and credit, while blocks are
// sealed and sent, connections break and lanes follow each other: no block is let go that was not
// sealed, none twice, and whoever is welcome may send.
#include <array>
#include <optional>
#include <string_view>

#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/format/endian.hpp"
#include "transport/link/link_message.hpp"
#include "transport/output/delivery.hpp"

namespace l3::test {
namespace {

constexpr std::size_t longest_report = 512;

/// Blocks without content, which are stored as the forwarder is told.
class any_source final : public block_source {
public:
  explicit any_source(fuzz_input& in) : in_(in) { begin(); }

  block_identity identity() const override { return {session_, 5, 1}; }
  bool is_remainder() const override { return remainder_; }
  bool next_lane() override {
    begin();
    return true;
  }
  std::optional<held_block> hold(std::uint64_t) override { return std::nullopt; }
  bool is_held(std::uint64_t) const override { return in_.flag(); }
  void stored_up_to(std::uint64_t sequence, std::uint64_t) override {
    require(sequence > stored_, "nothing is let go twice");
    require(sequence <= sealed_, "nothing is let go that was not sealed");
    told_ += sequence - stored_;
    stored_ = sequence;
  }
  int wake_descriptor() const override { return -1; }
  void clear_wake() const override {}
  void wake() const override {}
  std::uint64_t last_sealed() const override { return sealed_; }
  std::uint64_t last_stored() const override { return stored_; }

  void seal(std::uint64_t blocks) {
    if (session_ != 0 && !remainder_ && sealed_ <= ~std::uint64_t{0} - blocks - 1)
      sealed_ += blocks;
  }
  [[nodiscard]] std::uint64_t told() const { return told_; }

private:
  void begin() {
    session_ = in_.below(4); // 0: there is no lane
    remainder_ = in_.flag();
    stored_ = session_ == 0 ? 0 : in_.byte();
    // As high as a number may stand in a file of a spool.
    if (session_ != 0 && in_.below(16) == 15) stored_ = ~std::uint64_t{0} - 64 - in_.byte();
    sealed_ = stored_ + (session_ == 0 ? 0 : in_.below(16));
  }

  fuzz_input& in_;
  std::uint64_t session_ = 0;
  bool remainder_ = false;
  std::uint64_t stored_ = 0;
  std::uint64_t sealed_ = 0;
  std::uint64_t told_ = 0; ///< blocks of all lanes
};

class exchange {
public:
  explicit exchange(fuzz_input& in)
      : in_(in), source_(in), delivery_(source_, "tcp://far:1", [](std::string_view text) {
          require(text.size() <= longest_report, "a report is a line of a log");
          for (const char c : text)
            require(static_cast<unsigned char>(c) >= ' ', "a report is one line");
        }) {}

  void step() {
    switch (in_.below(8)) {
    case 0: source_.seal(in_.below(8)); break;
    case 1: now_ += in_.number<std::uint32_t>(); break;
    case 2: delivery_.connection_changed(in_.flag()); break;
    case 3: send(); break;
    case 4: delivery_.go_back_after(in_.number<std::uint32_t>(), now_); break;
    case 5: change_lane(); break;
    default: answer();
    }
    check();
  }

private:
  /// As the forwarder does.
  void send() {
    while (delivery_.is_welcome() && delivery_.may_send_next() && in_.below(4) != 3) {
      const auto n = delivery_.next();
      require(n <= source_.last_sealed(), "what is sent was sealed");
      delivery_.sent_next(1, now_);
    }
  }
  void change_lane() {
    if (source_.last_sealed() != source_.last_stored() || !source_.next_lane()) return;
    (void)delivery_.leave();
    delivery_.begin_lane();
    require(delivery_.lane() == source_.identity(), "the lane is the source's");
  }

  void answer() {
    const auto type =
        static_cast<line_message>(in_.below(16) == 15 ? in_.byte() : 2 + in_.below(4));
    const std::uint64_t session =
        in_.below(8) == 7 ? in_.number<std::uint64_t>() : source_.identity().session;
    const std::uint64_t sequence = in_.below(8) == 7
                                       ? in_.number<std::uint64_t>()
                                       : source_.last_stored() + in_.below(16) - in_.below(4);
    const std::uint32_t credit = in_.flag() ? in_.below(4) : in_.number<std::uint32_t>();
    const auto made = make_line_header(type, session, sequence, credit);
    std::array<std::byte, sizeof made> frame{};
    store(frame.data(), made);
    if (in_.below(16) == 15) in_.damage(frame);
    const auto head = read_line_header(frame);
    if (!head) return;
    const auto n = in_.byte();
    const auto text = in_.bytes(n);
    const bool was_welcome = delivery_.is_welcome();
    const auto stored = source_.last_stored();
    delivery_.take(*head, {reinterpret_cast<const char*>(text.data()), text.size()}, now_);
    if (head->session == source_.identity().session && head->session != 0) return;
    require(source_.last_stored() == stored && delivery_.is_welcome() == was_welcome,
            "another session's message changes nothing");
  }

  void check() {
    const auto stored = source_.last_stored();
    const auto next = delivery_.next();
    require(next > stored && next - 1 <= source_.last_sealed(),
            "the next block is behind the stored ones, and not beyond the sealed ones");
    require(delivery_.counters().acknowledged.get() == source_.told(), "what is let go is counted");
    require(!delivery_.is_welcome() || source_.identity().session != 0, "no lane is not welcome");
    if (delivery_.is_welcome() && next == stored + 1 && next <= source_.last_sealed())
      require(delivery_.may_send_next(), "there is always credit for one");
  }

  fuzz_input& in_;
  any_source source_;
  delivery delivery_;
  std::uint64_t now_ = 1;
};

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  fuzz_input in(data, bytes);
  exchange between(in);
  while (!in.empty()) between.step();
  return 0;
}
