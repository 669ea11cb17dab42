// SPDX-License-Identifier: Apache-2.0
#include "receiver/event_publisher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "config/toml/table.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/summary.hpp"
#include "transport/link/link_address.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

namespace {

/// For each subscriber. Further ones are dropped.
constexpr int messages_in_line = 32;
constexpr int longest_subscription = 256; ///< bytes; a longer one ends the connection
/// A subscriber that takes nothing for so long is disconnected, which frees its messages. ZeroMQ
/// connects it again when it reads.
constexpr int silence_limit_ms = 30'000;
constexpr std::size_t most_sessions = 32;
constexpr std::uint32_t lines_key = 4; ///< the entry with the text of the lines

/// The names of the lines, by bit.
std::vector<std::string> names_of_lines(std::span<const std::byte> settings) {
  std::vector<std::string> names;
  entry_walk walk(settings);
  while (const auto entry = walk.next()) {
    if (entry->key != lines_key) continue;
    try {
      const std::string file = "selection.lines";
      const toml_value text = parse_toml(entry->content, file);
      complaints wrong;
      toml_table(text, file, wrong).for_each_table("line", [&](const toml_table& part) {
        names.push_back(part.text("name").value);
      });
    } catch (const bad_file&) {
      names.clear(); // of another version: its events count as those of no line
    }
  }
  return names;
}

/// A block of the same session with this payload, whose end are the settings, behind `front` bytes.
zmq::message_t block_with(std::span<const std::byte> payload, std::size_t settings,
                          block_header header, std::size_t front = 0) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.events = payload.size() == settings ? 0 : 1;
  header.repeated = 0;
  header.payload_crc = crc32c(payload);
  set_settings(header, settings);
  seal_header(header);
  zmq::message_t made(front + sizeof header + payload.size());
  auto* const to = made.data<std::byte>() + front;
  store(to, header);
  std::memcpy(to + sizeof header, payload.data(), payload.size());
  return made;
}

} // namespace

event_publisher::event_publisher(const std::string& bind, std::uint32_t rate)
    : interval_(std::chrono::nanoseconds(std::chrono::seconds(1)) / rate) {
  const std::string address = endpoint_to_listen_at(bind);
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::sndhwm, messages_in_line);
  socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{longest_subscription});
  socket_.set(zmq::sockopt::tcp_maxrt, silence_limit_ms);
  socket_.set(zmq::sockopt::ipv6, is_ipv6(address));
  socket_.bind(address);
}

std::string event_publisher::endpoint() const { return socket_.get(zmq::sockopt::last_endpoint); }

event_publisher::session_state* event_publisher::find_session(std::span<const std::byte> entries,
                                                              const block_header& header,
                                                              time_point now) {
  if (const auto found = sessions_.find(header.session); found != sessions_.end()) {
    found->second.used_at = now;
    return &found->second;
  }
  const auto settings = entries.first(settings_length(entries));
  if (settings.empty()) return nullptr;
  if (sessions_.size() == most_sessions)
    sessions_.erase(std::ranges::min_element(
        sessions_, {}, [](const auto& session) { return session.second.used_at; }));
  session_state& made = sessions_[header.session];
  made.used_at = now;
  for (const std::string& name : names_of_lines(settings))
    made.lines.push_back(&*lines_.try_emplace(name).first);
  const store_file_header head = head_of_file(1);
  made.settings = block_with(settings, settings.size(), header, sizeof head);
  store(made.settings.data<std::byte>(), head);
  return &made;
}

void event_publisher::sample(std::span<const std::byte> block, const block_header& header,
                             time_point now) {
  const auto payload = block.subspan(sizeof header);
  const auto events = payload.first(events_bytes(header));
  session_state* const from = find_session(payload.subspan(events.size()), header, now);
  if (from == nullptr) return;
  event_walk walk(events, header);
  while (const auto event = walk.next()) {
    std::vector<line*> due;
    const auto ask = [&](line& l) {
      if (now < l.second.due) return;
      l.second.due = now + interval_;
      due.push_back(&l);
    };
    const std::uint32_t kept_by = lines_that_kept(*event);
    for (std::size_t bit = 0; bit < std::min<std::size_t>(from->lines.size(), max_lines); ++bit)
      if ((kept_by >> bit & 1) != 0) ask(*from->lines[bit]);
    if (kept_by == 0 || from->lines.empty()) ask(*lines_.try_emplace(no_line).first);
    if (due.empty()) continue;
    sampled_event& made = samples_.emplace_back();
    made.lines = std::move(due);
    made.settings.copy(from->settings);
    made.event = block_with(*event, 0, header);
  }
}

void event_publisher::publish() {
  for (sampled_event& sample : samples_) {
    for (line* const to : sample.lines) {
      // Messages share the bytes of their copies.
      zmq::message_t settings;
      zmq::message_t event;
      settings.copy(sample.settings);
      event.copy(sample.event);
      const std::array<std::uint64_t, 2> count{mark_, ++to->second.published};
      const auto more = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
      // With the zero after the name no topic begins another one.
      (void)socket_.send(zmq::buffer(to->first.c_str(), to->first.size() + 1), more);
      (void)socket_.send(zmq::buffer(count), more);
      (void)socket_.send(std::move(settings), more);
      (void)socket_.send(std::move(event), zmq::send_flags::dontwait);
    }
  }
  samples_.clear();
}

std::map<std::string, std::uint64_t> event_publisher::published() const {
  std::map<std::string, std::uint64_t> all;
  for (const auto& [name, state] : lines_) all[name] = state.published;
  return all;
}

} // namespace l3
