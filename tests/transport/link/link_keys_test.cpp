// SPDX-License-Identifier: Apache-2.0
// Key files: what is written is read, and what is no key, or no secret any more, is refused by
// name.
#include "transport/link/link_keys.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include <sys/stat.h>

#include "tests/transport/store/packed_events.hpp"
#include "transport/outbox/forwarder.hpp"

namespace l3 {
namespace {

using namespace test;

class link_keys : public testing::Test {
protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path(name)) << text;
    EXPECT_EQ(::chmod(path(name).c_str(), mode), 0);
    return path(name);
  }
  /// What reading it says.
  template <class Read>
  static std::string complaint(Read read, const std::string& file) {
    try {
      static_cast<void>(read(file));
      return "";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }

  template <class Read>
  static void expect_complaint(Read read, const std::string& file, std::string_view part) {
    EXPECT_NE(complaint(read, file).find(part), std::string::npos);
  }

private:
  scratch_folder folder_;
};

/// With names, remarks and empty lines, as Unix ends lines and as Windows does.
TEST_F(link_keys, an_allow_list_has_a_key_a_line) {
  const auto a = make_key_pair().public_half;
  const auto b = make_key_pair().public_half;
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string list = (end == "\n" ? "" : "\xef\xbb\xbf") +
                             ("# the farm" + end + "#" + end) + end + text_of(a) +
                             "  node 1, rack 3" + end + "   " + text_of(b) + end;
    const std::string file = write("allow", list, 0644);
    const auto keys = read_public_keys(file);
    ASSERT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys[0].key, a);
    EXPECT_EQ(keys[0].name, "node 1, rack 3");
    EXPECT_EQ(keys[1].key, b);
    EXPECT_EQ(keys[1].name, "");
    expect_complaint(read_public_key, file, "holds 2 keys");
    EXPECT_EQ(read_secret_line(write("password", "secret" + end)), "secret");
  }
}

TEST_F(link_keys, what_is_no_list_of_keys_is_named_and_not_shown) {
  const std::string good = text_of(make_key_pair().public_half);
  const std::string cut = good.substr(0, 39);
  std::string secret = "# koto-l3 secret key: nobody else may read it\n" + good + "\n";
  std::string of_windows = secret;
  of_windows.replace(of_windows.find('\n'), 1, "\r\n");
  const std::pair<std::string, const char*> all[] = {
      {"# one\n" + cut, ":2: no key"},
      {"# one\n" + good + "0", ":2: no key"},
      {"# one\n\"" + cut, ":2: no key"},
      {"# one\n" + cut + "\x7f", ":2: no key"},
      // As a file may be whose last page never reached the disk.
      {"# one\n" + good.substr(0, 20) + std::string(20, '\0'), ":2: no key"},
      // '#' is the last of the 85 characters: this is no remark, and more than 32 bits.
      {"#" + std::string(39, '0'), ":1: no key"},
      {"# none\n", "holds no key"},
      {std::string((1 << 20) + 1, '\n'), "has 1048577 bytes; at most 1048576 are read"},
      {good + "\n" + secret, "holds a secret key"},
      {of_windows, "holds a secret key"},
      {"\xef\xbb\xbf" + secret, "holds a secret key"},
      {"# mine" + secret, "holds a secret key"},
  };
  for (const auto& [text, why] : all) {
    const std::string said = complaint(read_public_keys, write("k", text, 0644));
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_EQ(said.find(cut), std::string::npos) << said;
  }
  const std::string longest = good + "\n" + std::string((1 << 20) - good.size() - 1, '\n');
  EXPECT_EQ(read_public_keys(write("longest", longest, 0644)).size(), 1U);
  EXPECT_EQ(read_public_keys(write("bits", "%nSc0" + std::string(35, '0'))).size(), 1U)
      << "0xffffffff";
  for (const auto& [file, why] : {std::pair(path("absent"), "/absent"),
                                  {path(""), "is a folder, not a file"},
                                  {"/proc/version", "/proc/version:1: no key"}})
    EXPECT_NE(complaint(read_public_keys, file).find(why), std::string::npos) << file;
}

TEST_F(link_keys, a_secret_key_and_a_public_one_are_not_taken_for_each_other) {
  write_key_pair(path("node1"), make_key_pair());
  expect_complaint(read_secret_key, path("node1.public"), "holds a public key");
  expect_complaint(read_public_key, path("node1.secret"), "holds a secret key");
}

TEST_F(link_keys, a_credential_is_looked_for_where_the_service_manager_puts_it) {
  const key_pair pair = make_key_pair();
  write("line", text_of(pair.secret), 0440); // as systemd shows a file with an access list
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
  expect_complaint(read_secret_key, "credential:line", "LoadCredential=");
  EXPECT_TRUE(is_for_the_service_alone("credential:line"));
  EXPECT_FALSE(is_for_the_service_alone("credential:"));
  EXPECT_FALSE(is_for_the_service_alone("credential:../x"));
  EXPECT_FALSE(is_for_the_service_alone(path("line")));
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", path("").c_str(), 1), 0);
  EXPECT_EQ(read_secret_key("credential:line"), pair.secret);
  EXPECT_FALSE(is_for_the_service_alone("credential:line"));
  expect_complaint(read_secret_key, "credential:", "names no credential");
  expect_complaint(read_secret_key, "credential:../x", "names no credential");
  ASSERT_EQ(::chmod(path("line").c_str(), 0444), 0);
  expect_complaint(read_secret_key, "credential:line", "by others");
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

} // namespace
} // namespace l3
