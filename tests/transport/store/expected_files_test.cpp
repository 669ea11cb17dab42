// SPDX-License-Identifier: Apache-2.0
// What a reader of a store is told when blocks or files are not there that manifest and sidecars
// name, and what it is not told while the store grows.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/failing_names.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/event_index.hpp"
#include "transport/store/sidecar.hpp"
#include "transport/store/store_manifest.hpp"

namespace l3::test {
namespace {

/// A store of three files with two blocks each, of which the last is not complete.
struct three_files {
  scratch_folder folder;

  three_files() {
    for (std::uint64_t i = 1; i <= 6; i += 2) {
      store_writer store({folder.path()});
      EXPECT_FALSE(append(store, block_of(i)));
      EXPECT_FALSE(append(store, block_of(i + 1)));
      EXPECT_FALSE(store.commit());
    }
  }
  [[nodiscard]] fs::path path() const { return folder.path(); }
  [[nodiscard]] fs::path file(std::uint64_t number) const {
    return find_store_file(path(), number);
  }
  [[nodiscard]] fs::path sidecar(std::uint64_t number) const {
    return file(number).replace_extension(".json");
  }
  void cut_last_block(std::uint64_t number) const {
    fs::resize_file(file(number), fs::file_size(file(number)) - block_of(2 * number).size());
  }
};

std::vector<std::string> faults_in(const fs::path& folder) {
  store_reader reader(folder);
  while (reader.next()) {
  }
  return reader.file_faults();
}

TEST(expected_files, are_all_there) {
  const three_files s;
  EXPECT_EQ(faults_in(s.path()), std::vector<std::string>());
}

TEST(expected_files, that_are_gone_are_told_with_and_without_their_sidecars) {
  const three_files s;
  const auto sidecar = s.sidecar(2);
  fs::remove(s.file(2));
  const std::vector<std::string> gone{"blocks-000002.kl3 is in the manifest, and not there"};
  EXPECT_EQ(faults_in(s.path()), gone);
  fs::remove(sidecar);
  EXPECT_EQ(faults_in(s.path()), gone);
  EXPECT_EQ(expected_files(s.path()).gone(), gone);
  EXPECT_EQ(event_index(s.path()).damaged(), 1U);
  write_file(archive_mark_path(s.path(), 2), {});
  EXPECT_EQ(faults_in(s.path()), std::vector<std::string>()) << "a person has taken it away";
}

TEST(expected_files, that_are_gone_are_told_by_a_sidecar_that_is_left) {
  const three_files s;
  const std::string name = s.file(2).filename();
  fs::remove(s.path() / store_manifest::file_name);
  fs::remove(s.file(2));
  EXPECT_EQ(faults_in(s.path()),
            std::vector<std::string>{name + " is not there, and its sidecar is"});
}

TEST(expected_files, that_were_cut_between_two_blocks_are_told) {
  const three_files s;
  const std::string name = s.file(1).filename();
  const auto bytes = std::to_string(fs::file_size(s.file(1)));
  s.cut_last_block(1);
  EXPECT_EQ(faults_in(s.path()),
            std::vector<std::string>{name + " has " + std::to_string(fs::file_size(s.file(1))) +
                                     " bytes; its sidecar says " + bytes});
  fs::remove(s.sidecar(1));
  const std::string by_manifest = name + " lacks 1 blocks with 1 events that manifest.kl3m lists";
  EXPECT_EQ(faults_in(s.path()),
            (std::vector<std::string>{name + " is complete by its name, and has no sidecar",
                                      by_manifest}));
  const auto open = store_file_path(s.path(), 1);
  fs::rename(s.file(1), open); // as a receiver leaves it that is killed
  EXPECT_EQ(faults_in(s.path()),
            std::vector<std::string>{"blocks-000001.kl3 lacks 1 blocks with 1 events that "
                                     "manifest.kl3m lists"});
}

TEST(expected_files, have_their_sidecars_unless_they_are_being_archived) {
  const three_files s;
  const std::string told =
      s.file(1).filename().string() + " is complete by its name, and has no sidecar";
  EXPECT_EQ(sidecar_fault(s.file(1)), "");
  fs::remove(s.sidecar(1));
  EXPECT_EQ(faults_in(s.path()), std::vector<std::string>{told});
  EXPECT_EQ(sidecar_fault(s.file(1)), told);
  EXPECT_EQ(event_index(s.path()).damaged(), 1U);
  write_file(archive_mark_path(s.path(), 1), {});
  EXPECT_EQ(faults_in(s.path()), std::vector<std::string>()) << "the sidecar was moved first";
  EXPECT_EQ(sidecar_fault(s.file(1)), "");
  fs::remove(archive_mark_path(s.path(), 1));
  EXPECT_EQ(sidecar_fault(store_file_path(s.path(), 1)), "") << "not complete, as 0.1.0 leaves it";
}

TEST(expected_files, are_told_whose_sidecar_says_nothing_or_other_figures) {
  const three_files s;
  const std::string name = s.sidecar(2).filename();
  const bytes whole = read_file(s.sidecar(2));
  std::string text(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto write = [&](const std::string& json) {
    write_file(s.sidecar(2), std::as_bytes(std::span(json)));
    return faults_in(s.path());
  };
  EXPECT_EQ(write("{}"),
            std::vector<std::string>{name + " is no sidecar: it has no key `sidecar`"});
  EXPECT_EQ(write(R"({"sidecar": 1})"),
            std::vector<std::string>{name + " does not say how many bytes its file has"});
  EXPECT_EQ(write("garbage"), std::vector<std::string>{name + " is no JSON object"});
  const std::string longest = text + std::string((64 << 20) - text.size(), ' ');
  EXPECT_EQ(write(longest), std::vector<std::string>());
  EXPECT_EQ(write(longest + ' '),
            std::vector<std::string>{name + " has 67108865 bytes; at most 67108864 are read"});
  const auto of_events = [&](std::uint64_t events) {
    return write(R"({"sidecar": 1, "bytes": 3300, "events": )" + std::to_string(events) + "}");
  };
  constexpr std::uint64_t as_many_as_fit = 3300 / sizeof(packed_event);
  EXPECT_EQ(of_events(as_many_as_fit + 1),
            std::vector<std::string>{name + " says " + std::to_string(as_many_as_fit + 1) +
                                     " events in 3300 bytes, which hold fewer"});
  for (const std::string& fault : of_events(as_many_as_fit))
    EXPECT_EQ(fault.find("which hold fewer"), std::string::npos) << fault;
  const std::string events = R"("events": 2)";
  ASSERT_NE(text.find(events), std::string::npos) << text;
  EXPECT_EQ(write(text.replace(text.find(events), events.size(), R"("events": 1)")),
            std::vector<std::string>{s.file(2).filename().string() +
                                     " holds 2 events; its sidecar says 1"});
}

TEST(expected_files, with_other_bytes_than_their_sidecars_say_are_told) {
  const three_files s;
  bytes file = read_file(s.file(1));
  const auto head = std::next(file.begin(), sizeof(store_file_header));
  std::rotate(head, std::next(head, static_cast<std::ptrdiff_t>(block_of(1).size())), file.end());
  write_file(s.file(1), file);
  const auto faults = faults_in(s.path());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].find(" has the CRC-32C "), std::string::npos) << faults[0];
}

TEST(expected_files, are_not_missed_where_a_receiver_adds_completes_and_archives_meanwhile) {
  const three_files s;
  store_reader reader(s.path());
  ASSERT_TRUE(reader.next());
  {
    store_writer store({s.folder.path()}); // another file, its entries, and its other name
    ASSERT_FALSE(append(store, block_of(7)));
    ASSERT_FALSE(store.commit());
  }
  while (reader.next()) {
  }
  EXPECT_EQ(reader.file_faults(), std::vector<std::string>());

  store_reader early(s.path());
  while (early.next()) {
  }
  fs::remove(s.sidecar(4));
  fs::remove(s.file(4));
  write_file(archive_mark_path(s.path(), 4), {});
  {
    store_writer store({s.folder.path()});
    ASSERT_FALSE(store.commit());
    (void)store.take_news();
  }
  EXPECT_FALSE(fs::exists(archive_mark_path(s.path(), 4))) << "the receiver has seen it";
  EXPECT_EQ(early.file_faults(), std::vector<std::string>());
}

/// The receiver, or a person by the page, takes a file that the reader has seen and not opened yet.
TEST(a_reader, goes_on_behind_a_file_that_is_archived_before_it_is_opened) {
  const three_files s;
  for (const bool first : {true, false}) {
    std::optional<store_reader> reader;
    reader.emplace(s.path());
    ASSERT_TRUE(reader->next()) << "of the first file";
    const std::uint64_t number = first ? 2 : 3;
    fs::remove(s.sidecar(number));
    fs::remove(s.file(number));
    write_file(archive_mark_path(s.path(), number), {});
    int blocks = 1;
    while (reader->next()) ++blocks;
    EXPECT_EQ(blocks, first ? 4 : 2);
    EXPECT_EQ(reader->file_faults(), std::vector<std::string>());
    EXPECT_EQ(reader->torn_ends().size(), 0U);
  }
  fs::create_symlink("nowhere", store_file_path(s.path(), 4));
  EXPECT_THROW((void)faults_in(s.path()), std::system_error) << "that is not gone";
}

/// Each reader looks at the folder some times, however many files there are.
TEST(expected_files, cost_no_listing_of_the_folder_for_each_file) {
  const auto listings_with = [](std::uint64_t files) {
    const scratch_folder folder;
    for (std::uint64_t i = 1; i <= files; ++i) {
      store_writer store({folder.path()});
      EXPECT_FALSE(append(store, block_of(i)));
      EXPECT_FALSE(store.commit());
    }
    listings = 0;
    const event_index index(folder.path());
    EXPECT_EQ(index.damaged(), 0U);
    event_reader reader(folder.path());
    for (const auto& e : index.entries()) EXPECT_TRUE(reader.read(e));
    return listings;
  };
  const int with_few = listings_with(2);
  EXPECT_GT(with_few, 0) << "this test counts them";
  EXPECT_EQ(listings_with(20), with_few);
}

TEST(a_copied_file, is_no_damage_to_a_receiver_and_named_as_by_readers) {
  const three_files s;
  const std::string copy = "blocks-000004-run000000-node0.kl3";
  fs::copy_file(s.file(1), s.path() / copy);
  fs::copy_file(s.sidecar(1), s.sidecar(4));
  store_writer store({s.path()});
  EXPECT_EQ(store.damaged(), 0U);
  EXPECT_EQ(store.not_as_written(), 0U);
  const auto news = store.take_news();
  const auto sentences = event_index(s.path()).misnamed_files();
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(std::ranges::count(news, s.path().string() + ": " + sentences.front()), 1);
}

TEST(a_copied_file, is_named_and_costs_no_events) {
  const three_files s;
  const std::string copy = "blocks-000004-run000000-node0.kl3";
  fs::copy_file(s.file(1), s.path() / copy);
  fs::copy_file(s.sidecar(1), s.sidecar(4));
  const event_index index(s.path());
  EXPECT_EQ(index.damaged(), 0U);
  EXPECT_EQ(index.misnamed_files(),
            std::vector<std::string>{copy + " has the number 1 in its head: it was copied or "
                                            "renamed, or the head is damaged"});
  ASSERT_EQ(index.entries().size(), 8U);
  ASSERT_EQ(index.copies().size(), 2U);
  std::vector<std::uint32_t> once;
  for (const auto& e : index.entries()) {
    EXPECT_EQ(index.is_in_copy(e), e.file == 4);
    if (!index.is_in_copy(e)) once.push_back(e.key.number);
  }
  EXPECT_EQ(once, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
}

} // namespace
} // namespace l3::test
