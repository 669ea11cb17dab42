// SPDX-License-Identifier: Apache-2.0
#include "tools/receive/stored_event.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "selection/display/event_picture.hpp"
#include "transport/store/block.hpp"

namespace l3 {

namespace {

constexpr auto period = std::chrono::seconds(2);
constexpr std::size_t most_sessions = 64;

std::shared_ptr<const std::vector<std::byte>> copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

} // namespace

void stored_event::offer(std::span<const std::byte> block, time_point now) {
  const auto header = load<block_header>(block.data());
  const auto payload = block.subspan(sizeof header);
  if (header.settings_bytes != 0) {
    if (settings_.size() >= most_sessions) settings_.clear(); // they come again
    settings_[header.session] = copy_of(payload.last(header.settings_bytes));
  }
  const auto settings = settings_.find(header.session);
  if (now < next_ || header.events == 0 || settings == settings_.end()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  next_ = now + period;
  event_walk walk(payload.first(events_bytes(header)), header);
  std::span<const std::byte> last;
  while (const auto event = walk.next()) last = *event;
  latest_ = {copy_of(last), settings->second, header.run};
}

http_response stored_event::page() {
  copy now;
  {
    const std::lock_guard lock(mutex_);
    now = latest_;
  }
  if (now.event == shown_.event) return json_text(text_);
  try {
    if (now.settings != shown_.settings) {
      by_.reset();
      const auto settings = decode_settings(*now.settings);
      if (settings && !settings->lines.empty())
        by_ = load_selection(*settings, "the settings of a session", now.run);
    }
    const auto event = packed_event_view::parse(*now.event);
    text_ = event && by_ ? event_with_detector_json(picture_of(*event, now.run, by_->what), *by_)
                         : std::string("null");
  } catch (const std::runtime_error&) { // settings of another version
    text_ = std::string("null");
  }
  shown_ = std::move(now);
  return json_text(text_);
}

http_pages stored_event::pages() {
  http_pages all;
  all["/event"] = [this] { return page(); };
  all["/event.js"] = [] {
    return http_response{200, "text/javascript; charset=utf-8", std::string(event_module)};
  };
  return all;
}

} // namespace l3
