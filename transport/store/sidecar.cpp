// SPDX-License-Identifier: Apache-2.0
#include "transport/store/sidecar.hpp"

#include <charconv>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t known_version = 1;

std::uint64_t figure(const json::object& from, std::string_view key) {
  const json::value* const v = from.if_contains(key);
  json::error_code error;
  const auto number = v == nullptr ? 0 : v->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

} // namespace

sidecar sidecar_of(const json::object& from) {
  sidecar said{figure(from, "bytes"), figure(from, "blocks"), figure(from, "events"), std::nullopt};
  const json::value* const crc = from.if_contains("crc32c");
  if (crc == nullptr || !crc->is_string()) return said;
  const std::string_view text = crc->get_string();
  std::uint32_t number = 0;
  constexpr int hexadecimal = 16;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal);
  if (error == std::errc() && end == text.data() + text.size()) said.crc = number;
  return said;
}

std::string fault_of_sidecar(const json::object& from) {
  if (!from.contains("sidecar")) return "is no sidecar: it has no key `sidecar`";
  if (const auto version = figure(from, "sidecar"); version != known_version)
    return fmt::format("is a sidecar of version {}; this program reads version {}", version,
                       known_version);
  const sidecar said = sidecar_of(from);
  if (said.bytes == 0) return "does not say how many bytes its file has";
  if (said.events > said.bytes / sizeof(packed_event))
    return fmt::format("says {} events in {} bytes, which hold fewer", said.events, said.bytes);
  return {};
}

sidecar_look read_sidecar(const fs::path& file) {
  const auto beside = fs::path(file).replace_extension(".json");
  std::error_code error;
  if (!fs::exists(fs::symlink_status(beside, error))) return {};
  const std::string name = beside.filename().string();
  const input_text in = read_input(beside, most_bytes);
  if (!in.refusal.empty()) return {std::nullopt, name + " " + in.refusal};
  json::error_code wrong;
  const json::value v = json::parse(in.text, wrong);
  if (wrong || !v.is_object()) return {std::nullopt, name + " is no JSON object"};
  if (const std::string fault = fault_of_sidecar(v.get_object()); !fault.empty())
    return {std::nullopt, name + " " + fault};
  return {sidecar_of(v.get_object()), {}};
}

std::string length_fault(const fs::path& file, const sidecar& said) {
  const std::string name = file.filename().string();
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) return name + " is not there, and its sidecar is";
  return bytes == said.bytes
             ? ""
             : fmt::format("{} has {} bytes; its sidecar says {}", name, bytes, said.bytes);
}

std::string missing_sidecar(const fs::path& file) {
  const std::string name = file.filename().string();
  const auto read = block_file_name::read(name);
  std::error_code error;
  const auto is_there = [&](const fs::path& path) {
    return fs::exists(fs::symlink_status(path, error));
  };
  if (!read || !read->complete || is_there(fs::path(file).replace_extension(".json"))) return {};
  // The file last: a receiver removes the mark when the file is gone.
  if (is_there(archive_mark_path(file.parent_path(), read->number)) || !is_there(file)) return {};
  return name + " is complete by its name, and has no sidecar";
}

std::string sidecar_fault(const fs::path& file) {
  const auto name = block_file_name::read(file.filename().string());
  if (!name || !name->complete) return {};
  const sidecar_look beside = read_sidecar(file);
  if (beside.said) return length_fault(file, *beside.said);
  return beside.fault.empty() ? missing_sidecar(file) : beside.fault;
}

} // namespace l3
