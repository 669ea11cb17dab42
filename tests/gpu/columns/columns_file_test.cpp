// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpu/columns/file.hpp"
#include "gpu/memory/frame.hpp"
#include "tests/gpu/columns/columns_layouts.hpp"

namespace l3::test {
namespace {

class columns_file : public testing::Test {
protected:
  void SetUp() override {
    host_columns<probes> columns(rows);
    fill(columns.view());
    save_columns<probes>(file, columns.view());
    good = read();
  }
  void TearDown() override { std::filesystem::remove(file); }

  [[nodiscard]] std::string read() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] column_file_header header() const {
    column_file_header h;
    std::memcpy(&h, good.data(), sizeof h);
    return h;
  }
  [[nodiscard]] std::string with(const column_file_header& h) const {
    return std::string(reinterpret_cast<const char*>(&h), sizeof h) + good.substr(sizeof h);
  }

  /// The message of loading the file as a Layout.
  template <class Layout = probes>
  [[nodiscard]] std::string refusal() const {
    try {
      static_cast<void>(load_columns<Layout>(file));
      return "loaded";
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(file.string()), std::string::npos) << e.what();
      return e.what();
    }
  }
  template <class Layout = probes>
  void expect_refusal(const std::string& why) const {
    const std::string said = refusal<Layout>();
    EXPECT_NE(said.find(why), std::string::npos) << said << "\ninstead of: " << why;
  }

  static constexpr std::uint32_t rows = 40;
  std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) /
      ("columns-" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string good;
};

TEST_F(columns_file, gives_back_what_was_saved) {
  const host_columns<probes> loaded = load_columns<probes>(file);
  ASSERT_EQ(loaded.size(), rows);
  for (std::uint32_t i = 0; i < rows; ++i) ASSERT_TRUE(equal(loaded[i], probe(i)));
  EXPECT_EQ(*loaded.view().factor, 1000 + rows);
  save_columns<probes>(file, host_columns<probes>(0).view());
  EXPECT_EQ(load_columns<probes>(file).size(), 0U);
}

TEST_F(columns_file, holds_the_same_bytes_wherever_its_columns_lay) {
  host_columns<probes> larger(2 * rows);
  fill(larger.view());
  host_columns<probes> other(rows);
  fill(other.view());
  probes::columns parts = larger.view().first(rows).as_columns();
  parts.medium = other.view().medium;
  parts.factor = other.view().factor;
  save_columns<probes>(file, probes::view(parts));
  EXPECT_EQ(read(), good);
}

TEST(columns_schema, names_columns_types_and_sizes) {
  EXPECT_EQ(schema_text<probes>(), "small uint8\n"
                                   "large uint64\n"
                                   "factor scalar uint32\n"
                                   "odd struct of 3 bytes {red uint8, green uint8, blue uint8}\n"
                                   "position float32[3]\n"
                                   "table int16[2][3]\n"
                                   "medium uint16\n");
  EXPECT_EQ(schema_text<probes::checked>(), schema_text<probes>());
}

template <template <class> class column>
struct result_fields {
  column<event_result> results;
  column<board_kind> kinds;
  column<bool> flags;
};
TEST(columns_schema, looks_into_structs) {
  const std::string text = schema_text<soa<result_fields>>();
  EXPECT_NE(text.find("results struct of 32 bytes {offset uint64, bytes uint32, "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("kinds enum uint"), std::string::npos) << text;
  EXPECT_NE(text.find("flags bool\n"), std::string::npos) << text;
}

template <class Large, class Table>
struct varied {
  template <template <class> class column>
  struct fields {
    column<std::uint8_t> small;
    column<Large> large;
    column<scalar<std::uint32_t>> factor;
    column<three_bytes> odd;
    column<vector_of<float, 3>> place;
    column<Table> table;
    column<std::uint16_t> medium;
  };
};
template <template <class> class column>
struct shorter_fields {
  column<std::uint8_t> small;
};

TEST_F(columns_file, of_another_schema_is_refused) {
  using renamed = varied<std::uint64_t, matrix_of<std::int16_t, 2, 3>>;
  using reshaped = varied<std::int64_t, matrix_of<std::int16_t, 3, 2>>;
  expect_refusal<soa<renamed::fields>>("another schema");
  expect_refusal<soa<renamed::fields>>("place float32[3]");
  expect_refusal<soa<reshaped::fields>>("large int64");
  expect_refusal<soa<reshaped::fields>>("table int16[3][2]");
  expect_refusal<soa<shorter_fields>>("another schema");
}

TEST_F(columns_file, truncated_or_changed_anywhere_is_refused) {
  for (std::size_t n = 0; n < good.size(); n += n < 48 ? 1 : 17) {
    write(good.substr(0, n));
    const std::string said = refusal();
    ASSERT_TRUE(said.find("too short") != std::string::npos ||
                said.find("truncated") != std::string::npos)
        << n << " bytes: " << said;
    std::string bad = good;
    bad[n] = static_cast<char>(bad[n] ^ 0x20);
    write(bad);
    ASSERT_NE(refusal(), "loaded") << "byte " << n;
  }
}

TEST_F(columns_file, that_is_something_else_is_refused) {
  write(good + '\0');
  expect_refusal("longer than it should be");
  write(std::string(1000, 'x'));
  expect_refusal("not a file of columns");
  column_file_header h = header();
  h.version = 2;
  write(with(h));
  expect_refusal("version 2");
  std::filesystem::remove(file);
  expect_refusal("cannot be opened");
  EXPECT_THROW(save_columns<probes>(file / "below", host_columns<probes>(1).view()),
               std::runtime_error);
  std::filesystem::create_directory(file);
  EXPECT_NE(refusal(), "loaded");
}

TEST_F(columns_file, that_lies_about_sizes_is_refused) {
  column_file_header h = header();
  h.rows = 0xffff'ffff; // allocating that would not end well
  write(with(h));
  expect_refusal("4294967295 rows take");
  h.data_bytes = column_files::data_bytes<probes>(h.rows);
  write(with(h));
  expect_refusal("truncated");
  h = header();
  h.data_bytes += 128;
  write(with(h));
  expect_refusal("but they take");
  h = header();
  h.schema_bytes = ~std::uint64_t{0};
  write(with(h));
  expect_refusal("ends before its schema");
  h = header();
  h.schema_bytes = good.size() - sizeof h;
  write(with(h));
  expect_refusal("another schema");
  h.schema_bytes = 0;
  write(with(h));
  expect_refusal("another schema");
  h = header();
  h.rows -= 1;
  ASSERT_EQ(column_files::data_bytes<probes>(h.rows), h.data_bytes)
      << "one row less, as many bytes";
  write(with(h));
  expect_refusal("checksum");
}

} // namespace
} // namespace l3::test
