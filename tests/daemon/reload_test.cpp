// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "config/key.hpp"
#include "tests/tools/temporary_folder.hpp"

namespace l3 {
namespace {

daemon_settings settings_of(const std::string& toml) {
  const loaded_config c = read_config(toml, "l3.toml");
  EXPECT_TRUE(c.ok()) << to_string(c.errors.front());
  return c.settings;
}

constexpr const char* much_changed = R"(
[run]
number = 12
[frames]
count = 7
[udp]
bind = "127.0.0.1:43000"
[outbox]
memory = "99 MiB"
[forward]
rate = "2 Gb/s"
to = "tcp://127.0.0.1:43001"
[log]
level = "debug"
)";

TEST(reload, names_what_changes_at_once_and_what_needs_a_restart) {
  const auto change = difference(daemon_settings{}, settings_of(much_changed));
  EXPECT_EQ(change.live,
            (std::vector<std::string>{R"(forward.rate = "2 Gb/s")", R"(log.level = "debug")"}));
  EXPECT_EQ(change.at_restart, (std::vector<std::string>{"run.number", "udp.bind", "frames.count",
                                                         "outbox.memory", "forward.to"}));
  const auto none = difference(settings_of(much_changed), settings_of(much_changed));
  EXPECT_TRUE(none.live.empty() && none.at_restart.empty());
}

TEST(reload, adopts_every_live_setting_and_no_other) {
  const daemon_settings wanted = settings_of(much_changed);
  daemon_settings running;
  adopt_live(wanted, running);
  for (const key& k : keys())
    EXPECT_EQ(k.show(running), k.show(k.live ? wanted : daemon_settings{})) << k.path;
  for (const key& k : keys()) // otherwise the line above proves nothing
    EXPECT_TRUE(!k.live || k.show(wanted) != k.show(daemon_settings{})) << k.path;
}

class reloading : public testing::Test {
protected:
  reloading() {
    before_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~reloading() override { spdlog::set_default_logger(before_); }

  [[nodiscard]] std::string file() const { return (folder_ / "l3.toml").string(); }
  void write(const std::string& text) const { std::ofstream(file()) << text; }

  reloader started_with(const std::string& text) {
    write(text);
    return {file(), load_config(file()).settings, [this](const daemon_settings& s) {
              ++applied_;
              level_ = s.log.level;
            }};
  }
  [[nodiscard]] bool said(const std::string& text) const {
    return log_.str().find(text) != std::string::npos;
  }

  temporary_folder folder_;
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream log_;
  int applied_ = 0;
  std::string level_;
};

TEST_F(reloading, says_that_the_reference_cannot_be_read) {
  const std::string reference = (folder_ / "reference.json").string();
  auto r = started_with("[histograms]\nreference = \"" + reference + "\"\n");
  std::ofstream(reference) << "garbage";
  r.reload();
  EXPECT_EQ(r.applied(), 1U) << "a daemon starts with it";
  EXPECT_TRUE(said("reload: histograms.reference: " + reference + " holds no histograms"))
      << log_.str();
  log_.str("");
  std::filesystem::remove(reference);
  ASSERT_EQ(mkfifo(reference.c_str(), 0600), 0);
  r.reload();
  EXPECT_TRUE(said(reference + " is a pipe, not a regular file")) << log_.str();
}

TEST_F(reloading, reads_the_files_of_the_selection_too) {
  const auto lines = (folder_ / "selection.toml").string();
  std::filesystem::copy_file(L3_SOURCE_DIR "/deploy/selection.toml", lines);
  auto r = started_with("[selection]\nlines = \"" + lines + "\"\n");
  std::ofstream(lines, std::ios::app) << "# another text, the same cuts\n";
  r.reload();
  EXPECT_EQ(r.applied(), 1U) << log_.str();
  EXPECT_TRUE(said("needs a restart: selection.lines (the file has changed)")) << log_.str();
  std::ofstream(lines, std::ios::app) << "[no_such_table]\n";
  r.reload();
  EXPECT_EQ(r.refused(), 1U);
  EXPECT_TRUE(said(lines + ":")) << log_.str();
}

} // namespace
} // namespace l3
