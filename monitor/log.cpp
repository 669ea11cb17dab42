// SPDX-License-Identifier: Apache-2.0
#include "monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "transport/format/plain_text.hpp"
#include "transport/system/line_writer.hpp"

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

bool under_the_journal() {
  // This program never changes the environment.
  return writes_to_journal(std::getenv("JOURNAL_STREAM")); // NOLINT(concurrency-mt-unsafe)
}

/// spdlog formats times before 1970, of a clock that was never set, and of its first second
/// wrongly. A message is one line, even if names in it contain line breaks.
std::string text_of(spdlog::formatter& format, spdlog::details::log_msg line) {
  line.time = std::max(line.time, spdlog::log_clock::time_point(std::chrono::seconds(1)));
  const std::string plain = plain_line({line.payload.data(), line.payload.size()});
  line.payload = plain;
  spdlog::memory_buf_t text;
  format.format(line, text);
  return {text.data(), text.size()};
}

/// No logging thread waits for the reader of the log.
class stderr_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
  stderr_sink(std::string program, std::shared_ptr<spdlog::formatter> format)
      : writer_(STDERR_FILENO,
                [program = std::move(program), format = std::move(format)](std::uint64_t left_out) {
                  const std::string text =
                      fmt::format("{} log lines left out: they could not be written", left_out);
                  return text_of(*format, {program, spdlog::level::warn, text});
                }) {}

  [[nodiscard]] std::uint64_t left_out() const { return writer_.left_out(); }

protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    writer_.write(text_of(*formatter_, line));
  }
  void flush_() override { writer_.flush(); }

private:
  line_writer writer_;
};

} // namespace

bool writes_to_journal(const char* journal_stream) {
  struct stat at {};
  if (journal_stream == nullptr || fstat(STDERR_FILENO, &at) != 0) return false;
  return journal_stream == std::to_string(at.st_dev) + ":" + std::to_string(at.st_ino);
}

void start_logging(const std::string& program, const std::string& level) {
  auto format = std::make_unique<spdlog::pattern_formatter>();
  if (under_the_journal()) {
    format->add_flag<priority_prefix>('*').set_pattern("%*%v");
  } else {
    format->set_pattern("%Y-%m-%d %H:%M:%S.%e %z %l: %v");
  }
  auto logger = std::make_shared<spdlog::logger>(
      program, std::make_shared<stderr_sink>(program, format->clone()));
  logger->set_formatter(std::move(format));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

void log_line(log_level level, std::string_view text) {
  constexpr std::array levels = {spdlog::level::info, spdlog::level::warn, spdlog::level::err};
  spdlog::log(levels[static_cast<std::size_t>(level)], text);
}

std::uint64_t log_lines_left_out() {
  for (const auto& sink : spdlog::default_logger()->sinks())
    if (const auto* ours = dynamic_cast<const stderr_sink*>(sink.get())) return ours->left_out();
  return 0;
}

void close_log() { spdlog::shutdown(); }

void say_last(const std::string& text) {
  spdlog::shutdown();
  line_writer writer(STDERR_FILENO, [](std::uint64_t /*left_out*/) { return std::string(); });
  const char* const prefix = under_the_journal() ? "<2>" : "";
  std::istringstream lines(plain_lines(text));
  for (std::string line; std::getline(lines, line);) writer.write(prefix + line + '\n');
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

} // namespace l3
