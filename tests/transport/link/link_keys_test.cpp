// SPDX-License-Identifier: Apache-2.0
// Key files: what is written is read, and what is no key, or no secret any more, is refused by
// name.
#include "transport/link/link_keys.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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
  static mode_t mode_of(const std::string& file) {
    struct stat is {};
    EXPECT_EQ(::stat(file.c_str(), &is), 0);
    return is.st_mode & 07777;
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

private:
  scratch_folder folder_;
};

TEST_F(link_keys, a_pair_is_written_for_its_owner_and_read_back) {
  const key_pair pair = make_key_pair();
  EXPECT_NE(pair.secret, make_key_pair().secret);
  write_key_pair(path("node1"), pair);
  EXPECT_EQ(mode_of(path("node1.secret")), 0600U);
  EXPECT_EQ(mode_of(path("node1.public")), 0644U);
  EXPECT_EQ(read_secret_key(path("node1.secret")), pair.secret);
  EXPECT_EQ(read_public_key(path("node1.public")), pair.public_half);
  EXPECT_EQ(public_half_of(pair.secret), pair.public_half);
}

TEST_F(link_keys, a_pair_is_never_written_over_another) {
  const key_pair first = make_key_pair();
  write_key_pair(path("node1"), first);
  EXPECT_THROW(write_key_pair(path("node1"), make_key_pair()), std::runtime_error);
  EXPECT_EQ(read_secret_key(path("node1.secret")), first.secret);
  // Half a pair is no pair: the secret that was just written is taken back.
  write("node2.public", "somebody's", 0644);
  EXPECT_THROW(write_key_pair(path("node2"), make_key_pair()), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path("node2.secret")));
}

TEST_F(link_keys, a_secret_that_others_may_read_is_refused) {
  const std::string file = write("s", text_of(make_key_pair().secret) + "\n");
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0644U}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_NE(complaint(read_secret_key, file).find("by others"), std::string::npos)
        << std::oct << mode;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
  EXPECT_EQ(complaint(read_secret_key, file), "");
}

TEST_F(link_keys, an_allow_list_has_a_key_a_line_with_names_and_remarks) {
  const auto a = make_key_pair().public_half;
  const auto b = make_key_pair().public_half;
  const std::string file =
      write("allow", "# the farm\n#\n\n" + text_of(a) + "  node 1, rack 3\n   " + text_of(b), 0644);
  const auto keys = read_public_keys(file);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].key, a);
  EXPECT_EQ(keys[0].name, "node 1, rack 3");
  EXPECT_EQ(keys[1].key, b);
  EXPECT_EQ(keys[1].name, "");
  EXPECT_NE(complaint(read_public_key, file).find("holds 2 keys"), std::string::npos);
}

TEST_F(link_keys, a_key_may_begin_with_the_sign_of_a_remark) {
  const std::string key = "#" + std::string(39, '0'); // '#' is the last of the 85 characters
  const auto short_of_overflow = write("allow", "%nSc0" + std::string(35, '0') + "\n", 0644);
  EXPECT_EQ(read_public_keys(short_of_overflow).size(), 1U); // 0xffffffff
  // Five characters from "#" on would be more than 32 bits: no key, but no remark either.
  EXPECT_NE(complaint(read_public_keys, write("hash", key + "\n", 0644)).find("hash:1: no key"),
            std::string::npos);
}

TEST_F(link_keys, what_is_no_key_is_named_by_file_and_line_and_not_shown) {
  const std::string good = text_of(make_key_pair().public_half);
  const std::string cut = good.substr(0, 39);
  // As a file may be whose last page never reached the disk.
  const std::string half_zeros = good.substr(0, 20) + std::string(20, '\0');
  for (const std::string& wrong :
       {cut, good + "0", "\"" + cut, std::string("x"), cut + "\x7f", half_zeros}) {
    const std::string said = complaint(read_public_keys, write("k", "# one\n" + wrong, 0644));
    EXPECT_NE(said.find("/k:2: no key"), std::string::npos) << said;
    EXPECT_EQ(said.find(cut), std::string::npos) << said;
  }
  EXPECT_NE(complaint(read_public_keys, write("e", "# none\n", 0644)).find("holds no key"),
            std::string::npos);
  EXPECT_NE(complaint(read_public_keys, path("absent")).find("/absent"), std::string::npos);
  EXPECT_NE(complaint(read_public_keys, path("")).find("cannot be read: Is a directory"),
            std::string::npos);
  EXPECT_NE(complaint(read_public_keys, "/proc/version").find("/proc/version:1: no key"),
            std::string::npos)
      << "its size is 0, and it is not empty";
  EXPECT_NE(complaint(read_public_keys, write("long", std::string(2 << 20, '\n'), 0644))
                .find("has 2097152 bytes; at most 1048576 are read"),
            std::string::npos);
}

TEST_F(link_keys, a_secret_key_is_not_taken_for_a_public_one) {
  write_key_pair(path("node1"), make_key_pair());
  EXPECT_NE(complaint(read_secret_key, path("node1.public")).find("holds a public key"),
            std::string::npos);
  EXPECT_NE(complaint(read_public_key, path("node1.secret")).find("holds a secret key"),
            std::string::npos);
}

TEST_F(link_keys, a_secret_key_is_found_wherever_it_stands_in_an_allow_list) {
  write_key_pair(path("node1"), make_key_pair());
  const auto text = [&](const std::string& file) {
    std::ostringstream all;
    all << std::ifstream(path(file)).rdbuf();
    return all.str();
  };
  const std::string secret = text("node1.secret");
  std::string of_windows = secret;
  of_windows.replace(of_windows.find('\n'), 1, "\r\n");
  for (const std::string& wrong : {text("node1.public") + secret, "\n" + secret, of_windows,
                                   "\xef\xbb\xbf" + secret, "# mine" + secret})
    EXPECT_NE(complaint(read_public_keys, write("allow", wrong)).find("holds a secret key"),
              std::string::npos)
        << wrong;
}

TEST_F(link_keys, lines_may_end_as_windows_ends_them) {
  const auto a = make_key_pair().public_half;
  const auto b = make_key_pair().public_half;
  const std::string list =
      "\xef\xbb\xbf# the farm\r\n#\r\n\r\n" + text_of(a) + "\r\n" + text_of(b) + " node 2\r\n";
  const auto keys = read_public_keys(write("allow", list, 0644));
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].key, a);
  EXPECT_EQ(keys[0].name, "");
  EXPECT_EQ(keys[1].key, b);
  EXPECT_EQ(keys[1].name, "node 2");
  EXPECT_EQ(read_secret_line(write("password", "secret\r\n")), "secret");
}

TEST_F(link_keys, a_list_may_repeat_keys_and_have_long_lines_but_not_be_long) {
  const std::string key = text_of(make_key_pair().public_half);
  const std::string long_line(900 << 10, 'x');
  EXPECT_EQ(read_public_keys(write("remark", "# " + long_line + "\n" + key)).size(), 1U);
  EXPECT_EQ(read_public_keys(write("name", key + " " + long_line)).front().name, long_line);
  const std::string longest = key + "\n" + std::string((1 << 20) - key.size() - 1, '\n');
  EXPECT_EQ(read_public_keys(write("longest", longest, 0644)).size(), 1U);
  EXPECT_NE(complaint(read_public_keys, write("longer", longest + "\n", 0644))
                .find("has 1048577 bytes; at most 1048576 are read"),
            std::string::npos);
  std::string list;
  while (list.size() < 41'000'000) list += key + "\n";
  EXPECT_EQ(read_public_keys(write("repeats", list.substr(0, 24'390 * 41))).size(), 24'390U);
  EXPECT_NE(complaint(read_public_keys, write("million", list)).find("at most 1048576 are read"),
            std::string::npos);
  EXPECT_NE(complaint(read_public_keys, "/dev/zero").find("is a device"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(complaint(read_public_keys, path("pipe")).find("is a pipe"), std::string::npos);
}

TEST_F(link_keys, a_credential_is_looked_for_where_the_service_manager_puts_it) {
  const key_pair pair = make_key_pair();
  write("line", text_of(pair.secret), 0440); // as systemd shows a file with an access list
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
  EXPECT_NE(complaint(read_secret_key, "credential:line").find("LoadCredential="),
            std::string::npos);
  EXPECT_TRUE(is_for_the_service_alone("credential:line"));
  EXPECT_FALSE(is_for_the_service_alone("credential:"));
  EXPECT_FALSE(is_for_the_service_alone("credential:../x"));
  EXPECT_FALSE(is_for_the_service_alone(path("line")));
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", path("").c_str(), 1), 0);
  EXPECT_EQ(read_secret_key("credential:line"), pair.secret);
  EXPECT_FALSE(is_for_the_service_alone("credential:line"));
  EXPECT_NE(complaint(read_secret_key, "credential:").find("names no credential"),
            std::string::npos);
  EXPECT_NE(complaint(read_secret_key, "credential:../x").find("names no credential"),
            std::string::npos);
  ASSERT_EQ(::chmod(path("line").c_str(), 0444), 0);
  EXPECT_NE(complaint(read_secret_key, "credential:line").find("by others"), std::string::npos);
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

TEST_F(link_keys, the_setting_to_blame_is_named) {
  forward_settings s;
  EXPECT_EQ(wrong_with_keys(s), "");
  write_key_pair(path("node1"), make_key_pair());
  s.secret_key = path("node1.secret");
  s.receiver_key = path("node1.public");
  EXPECT_EQ(wrong_with_keys(s), "");
  s.receiver_key = path("other");
  EXPECT_TRUE(wrong_with_keys(s).starts_with("forward.receiver_key: ")) << wrong_with_keys(s);
  s.secret_key = path("node1.public");
  EXPECT_TRUE(wrong_with_keys(s).starts_with("forward.secret_key: ")) << wrong_with_keys(s);
}

} // namespace
} // namespace l3
