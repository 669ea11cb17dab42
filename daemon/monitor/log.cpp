// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace l3 {
namespace {

// The prefix that gives the journal the priority of a line (sd-daemon(3)).
class priority_prefix final : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg& line, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view prefix = of(line.level);
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<priority_prefix>();
  }

private:
  static std::string_view of(spdlog::level::level_enum level) {
    switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug: return "<7>";
    case spdlog::level::info: return "<6>";
    case spdlog::level::warn: return "<4>";
    case spdlog::level::err: return "<3>";
    default: return "<2>";
    }
  }
};

} // namespace

bool writes_to_journal(const char* journal_stream) {
  struct stat at {};
  if (journal_stream == nullptr || fstat(STDERR_FILENO, &at) != 0) return false;
  return journal_stream == std::to_string(at.st_dev) + ":" + std::to_string(at.st_ino);
}

void start_logging(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("koto-l3d",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto format = std::make_unique<spdlog::pattern_formatter>();
  if (writes_to_journal(
          std::getenv("JOURNAL_STREAM"))) { // NOLINT(concurrency-mt-unsafe): before any thread
    format->add_flag<priority_prefix>('*').set_pattern("%*%v");
  } else {
    format->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  }
  logger->set_formatter(std::move(format));
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

} // namespace l3
