// SPDX-License-Identifier: Apache-2.0
// What a receiver answers to a forwarder, of any session, number and credit, while blocks are
// sealed and sent, connections break and lanes follow each other: no block is let go that was not
// sent, none twice, and whoever is welcome may send.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/format/endian.hpp"
#include "transport/link/link_message.hpp"
#include "transport/outbox/send_window.hpp"

namespace l3::test {
namespace {

constexpr std::size_t longest_report = 512;

/// Blocks without content, which are stored as the forwarder is told.
class any_source final : public block_source {
public:
  explicit any_source(fuzz_input& in) : in_(in) { begin(); }

  lane_state lane() const override { return lane_; }
  bool next_lane() override {
    begin();
    return true;
  }
  held_block hold(std::uint64_t) override { return {}; }
  void stored_up_to(std::uint64_t sequence, time_point) override {
    require(sequence > lane_.stored, "nothing is let go twice");
    require(sequence <= lane_.sealed, "nothing is let go that was not sealed");
    require(sequence <= std::max(sent_, lane_.possibly_sent),
            "nothing is let go that was not sent");
    told_ += sequence - lane_.stored;
    lane_.stored = sequence;
  }

  void seal(std::uint64_t blocks) {
    if (lane_.identity.session != 0 && lane_.possibly_sent == 0 &&
        lane_.sealed <= ~std::uint64_t{0} - blocks - 1)
      lane_.sealed += blocks;
  }
  [[nodiscard]] std::uint64_t told() const { return told_; }
  void note_sent(std::uint64_t sequence) { sent_ = std::max(sent_, sequence); }

private:
  void begin() {
    lane_ = {{in_.below(4), 5, 1}}; // session 0: there is no lane
    const bool is_found = in_.flag();
    sent_ = 0;
    if (lane_.identity.session == 0) return;
    lane_.stored = in_.byte();
    // As high as a number may stand in a file of a spool.
    if (in_.below(16) == 15) lane_.stored = ~std::uint64_t{0} - 64 - in_.byte();
    lane_.sealed = lane_.stored + in_.below(16);
    if (is_found) lane_.possibly_sent = lane_.stored + in_.below(32);
  }

  fuzz_input& in_;
  lane_state lane_;
  std::uint64_t told_ = 0; ///< blocks of all lanes
  std::uint64_t sent_ = 0; ///< the last one of this lane
};

class exchange {
public:
  explicit exchange(fuzz_input& in)
      : in_(in), source_(in), window_(source_, "tcp://far:1", [](std::string_view text) {
          require(text.size() <= longest_report, "a report is a line of a log");
          for (const char c : text)
            require(static_cast<unsigned char>(c) >= ' ', "a report is one line");
        }) {}

  void step() {
    switch (in_.below(8)) {
    case 0: source_.seal(in_.below(8)); break;
    case 1: now_ += any_time(); break;
    case 2: window_.connection_changed(in_.flag(), now_); break;
    case 3: send(); break;
    case 4: window_.go_back_after(any_time(), now_); break;
    case 5: change_lane(); break;
    default: answer();
    }
    check();
  }

private:
  std::chrono::nanoseconds any_time() {
    return std::chrono::nanoseconds(in_.number<std::uint32_t>());
  }

  /// As the forwarder does.
  void send() {
    while (window_.is_welcome() && window_.may_send_next() && in_.below(4) != 3) {
      const auto n = window_.next();
      require(n <= source_.lane().sealed, "what is sent was sealed");
      source_.note_sent(n);
      window_.sent({{}, in_.flag() ? in_memory_ : nullptr}, now_);
    }
  }
  void change_lane() {
    if (source_.lane().sealed != source_.lane().stored || !source_.next_lane()) return;
    (void)window_.leave();
    window_.begin_lane();
  }

  void answer() {
    const auto type =
        static_cast<link_message>(in_.below(16) == 15 ? in_.byte() : 2 + in_.below(4));
    const std::uint64_t session =
        in_.below(8) == 7 ? in_.number<std::uint64_t>() : source_.lane().identity.session;
    const std::uint64_t sequence = in_.below(8) == 7
                                       ? in_.number<std::uint64_t>()
                                       : source_.lane().stored + in_.below(16) - in_.below(4);
    const std::uint32_t credit = in_.flag() ? in_.below(4) : in_.number<std::uint32_t>();
    const auto made = make_link_header(type, session, sequence, credit);
    std::array<std::byte, sizeof made> frame{};
    store(frame.data(), made);
    if (in_.below(16) == 15) in_.damage(frame);
    const auto head = read_link_header(frame);
    if (!head) return;
    const auto n = in_.byte();
    const auto text = in_.bytes(n);
    const bool was_welcome = window_.is_welcome();
    const auto stored = source_.lane().stored;
    window_.take(*head, {reinterpret_cast<const char*>(text.data()), text.size()}, now_);
    if (head->session == source_.lane().identity.session && head->session != 0) return;
    require(source_.lane().stored == stored && window_.is_welcome() == was_welcome,
            "another session's message changes nothing");
  }

  void check() {
    const auto stored = source_.lane().stored;
    const auto next = window_.next();
    require(next > stored && next - 1 <= source_.lane().sealed,
            "the next block is behind the stored ones, and not beyond the sealed ones");
    require(window_.counters().acknowledged.get() == source_.told(), "what is let go is counted");
    require(!window_.is_welcome() || source_.lane().identity.session != 0,
            "no lane is not welcome");
    if (window_.is_welcome() && next == stored + 1 && next <= source_.lane().sealed)
      require(window_.may_send_next(), "there is always credit for one");
  }

  fuzz_input& in_;
  any_source source_;
  send_window window_;
  std::shared_ptr<const int> in_memory_ = std::make_shared<int>(); ///< of blocks that have not left
  time_point now_;
};

} // namespace

void fuzz(fuzz_input& in) {
  exchange between(in);
  while (!in.empty()) between.step();
}

} // namespace l3::test
