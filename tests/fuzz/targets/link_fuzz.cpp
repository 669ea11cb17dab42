// SPDX-License-Identifier: Apache-2.0
// The output link's far end: any messages to a receiver, right ones and wrong ones, of two
// sessions, over two connections. It answers what it says it does, acknowledges nothing that is not
// stored, and its store holds each session's blocks in rising order.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include <zmq.hpp>

#include "receiver/block_receiver.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/link/link_message.hpp"
#include "transport/store/store_reader.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

/// One receiver for all inputs: sessions are drawn anew for each.
class far_end {
public:
  far_end()
      : store_(std::make_unique<store_writer>(store_settings{folder_.path()})),
        receiver_(std::make_unique<block_receiver>(settings(folder_.path()), *store_, nullptr)) {
    for (auto& near : near_) {
      near.set(zmq::sockopt::linger, 0);
      near.connect(receiver_->endpoint());
    }
  }

  void take(fuzz_input& in) {
    sessions_[0] += 2;
    sessions_[1] = sessions_[0] + 1;
    while (!in.empty()) {
      any_message(in);
      if (in.below(4) == 0) settle();
    }
    settle();
    check_store();
  }

private:
  static receive_settings settings(const std::string& folder) {
    receive_settings s;
    s.bind = "ipc://" + folder + "/line";
    s.publish = "ipc://" + folder + "/published";
    return s;
  }

  void any_message(fuzz_input& in) {
    const std::uint64_t session = in.below(16) == 15 ? in.byte() : sessions_[in.below(2)];
    const auto type = static_cast<link_message>(in.below(16) == 15 ? in.byte() : 1 + in.below(7));
    const std::uint64_t sequence =
        in.below(16) == 15 ? in.number<std::uint64_t>() : std::uint64_t{in.below(8)};
    auto head = make_link_header(type, session, sequence);
    std::vector<std::byte> body;
    if (type == link_message::hello)
      body.resize(in.below(8) == 7 ? in.byte() : sizeof(link_hello_body));
    if (type == link_message::block) body = any_block(in, session, sequence);
    std::vector<std::byte> frame;
    put(frame, head);
    if (in.below(16) == 15) in.damage(frame);
    if (in.below(16) == 15) frame.resize(in.byte() % (frame.size() + 1));
    auto& near = near_[in.below(2)];
    const auto frames = in.below(16) == 15 ? in.below(4) : 2;
    for (std::uint32_t f = 0; f < frames; ++f) {
      const auto& part = f == 0 ? frame : body;
      (void)near.send(zmq::buffer(part.data(), part.size()),
                      (f + 1 < frames ? zmq::send_flags::sndmore : zmq::send_flags::none) |
                          zmq::send_flags::dontwait);
    }
    if (frames > 0) ++sent_;
  }

  /// Few different ones: the receiver leaves out what another session stored.
  static std::vector<std::byte> any_events(fuzz_input& in) {
    std::vector<std::byte> payload;
    for (auto n = in.below(4); n > 0; --n) {
      packed_event e;
      e.bytes = sizeof e + 8 * in.below(4);
      e.number = 1 + in.below(4);
      put(payload, e);
      payload.resize(payload.size() + e.bytes - sizeof e);
    }
    if (in.below(4) == 3) in.damage(payload);
    return payload;
  }

  static std::vector<std::byte> any_block(fuzz_input& in, std::uint64_t session,
                                          std::uint64_t sequence) {
    const auto payload = any_events(in);
    block_header h;
    h.session = session;
    h.sequence = in.below(16) == 15 ? in.byte() : sequence;
    h.events = in.below(4);
    h.payload_bytes = static_cast<std::uint32_t>(payload.size());
    h.payload_crc = crc32c(payload);
    seal_header(h);
    std::vector<std::byte> block;
    put(block, h);
    put_bytes(block, payload);
    if (in.below(8) == 7) in.damage(block);
    return block;
  }

  /// Until the receiver has taken everything that was sent.
  void settle() {
    const auto patience = std::chrono::steady_clock::now() + 10s;
    while (receiver_->counters().messages < sent_) {
      (void)receiver_->step(100ms);
      require(std::chrono::steady_clock::now() < patience, "every message is taken");
    }
    for (auto& near : near_) check_answers(near);
  }

  void check_answers(zmq::socket_t& near) {
    zmq::message_t frame;
    while (near.recv(frame, zmq::recv_flags::dontwait)) {
      const auto head = read_link_header({frame.data<std::byte>(), frame.size()});
      require(head.has_value() && frame.more(), "answers are messages of the line");
      (void)near.recv(frame);
      require(!frame.more(), "of two frames");
      if (head->type == link_message::acknowledgement || head->type == link_message::welcome) {
        require(head->sequence <= store_->last_stored(head->session),
                "nothing is acknowledged that is not stored");
        require(head->credit > 0, "there is always credit for one");
      } else {
        require(head->type == link_message::refusal, "a receiver sends nothing else");
      }
    }
  }

  void check_store() {
    const auto& c = receiver_->counters();
    require(c.store_errors == 0, "the store has room");
    // One that came early has its fate later, or none if its session ends before that.
    const std::uint64_t fates = c.duplicates + c.gaps + c.damaged.sum() + c.stored_blocks;
    require(fates <= c.blocks && c.blocks <= fates + c.early, "every block has one fate");
    while (const auto block = written_.next()) {
      auto& last = last_[block->header.session];
      require(block->header.sequence > last, "a session's blocks stand in rising order");
      last = block->header.sequence;
    }
  }

  scratch_of_fuzz folder_;
  std::unique_ptr<store_writer> store_;
  std::unique_ptr<block_receiver> receiver_;
  store_reader written_{folder_.path()};
  std::map<std::uint64_t, std::uint64_t> last_;
  zmq::context_t context_{1};
  std::array<zmq::socket_t, 2> near_{zmq::socket_t{context_, zmq::socket_type::dealer},
                                     zmq::socket_t{context_, zmq::socket_type::dealer}};
  std::array<std::uint64_t, 2> sessions_{256}; ///< those of other inputs are others
  std::uint64_t sent_ = 0;
};

} // namespace

void fuzz(fuzz_input& in) {
  static far_end far;
  far.take(in);
}

} // namespace l3::test
