// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "daemon/monitor/recent_history.hpp"
#include "daemon/monitor/troubles.hpp"
#include "monitor/http_server.hpp"

namespace l3 {

/// daemon/monitor/page.html polls /status twice a second. The first numbers replace @FIRST@ in it.
extern const std::string_view page_html;

std::string render_page(const metrics_snapshot& s) {
  constexpr std::string_view place = "@FIRST@";
  std::string status = render_status(s);
  // Text of the configuration could close the script element.
  for (std::size_t i = status.find('<'); i != status.npos; i = status.find('<', i))
    status.replace(i, 1, "\\u003c");
  std::string page(page_html);
  return page.replace(page.find(place), place.size(), status);
}

namespace {

/// A page with many viewers: made once per snapshot and phase. For one thread.
class shared_page {
public:
  using render_function = std::string (*)(const metrics_snapshot&);
  explicit shared_page(render_function render) : render_(render) {}

  shared_text of(const metrics_snapshot& s) {
    const std::pair of_what(s.uptime, s.state.now);
    if (of_what != made_of_) {
      text_ = render_(s);
      made_of_ = of_what;
    }
    return text_;
  }

private:
  render_function render_;
  std::optional<std::pair<double, phase>> made_of_;
  shared_text text_{{}};
};

/// For the chart of rates: `step` in seconds and `points`, each [in, kept, out] in events a second.
std::string render_history(const metrics_snapshot& s) {
  std::string text;
  for (const auto& [in, kept, out] : s.history)
    text += fmt::format("{}[{:.6g},{:.6g},{:.6g}]", text.empty() ? "" : ",", in, kept, out);
  return fmt::format(R"({{"step":{},"points":[{}]}})", recent_history::step.count(), text);
}

} // namespace

http_pages monitor_pages(std::function<metrics_snapshot()> latest,
                         std::function<state_report()> state, std::function<std::string()> stuck) {
  // The counters are those of the snapshot, but the state is current.
  const auto current = [latest = std::move(latest), state = std::move(state)] {
    metrics_snapshot s = latest();
    s.state = state();
    return s;
  };
  http_pages pages;
  pages["/"] = [current, page = shared_page(render_page)]() mutable {
    return html(page.of(current()));
  };
  pages["/metrics"] = [current, metrics = shared_page(render_metrics)]() mutable {
    return prometheus_text(metrics.of(current()));
  };
  pages["/status"] = [current, status = shared_page(render_status)]() mutable {
    return json_text(status.of(current()));
  };
  pages["/history"] = [current, history = shared_page(render_history)]() mutable {
    return json_text(history.of(current()));
  };
  pages["/runbook"] = [] { return html(std::string(runbook)); };
  pages["/readyz"] = [current] {
    const metrics_snapshot s = current();
    return plain_text(s.state.ready() ? 200 : 503, state_text(s));
  };
  pages["/healthz"] = [stuck = std::move(stuck)] {
    const std::string thread = stuck();
    return thread.empty() ? plain_text(200, "ok") : plain_text(503, "no progress: " + thread);
  };
  return pages;
}

} // namespace l3
