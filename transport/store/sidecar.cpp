// SPDX-License-Identifier: Apache-2.0
#include "transport/store/sidecar.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/system/input_file.hpp"

namespace l3 {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

std::uint64_t figure(const json::object& from, std::string_view key) {
  const json::value* const v = from.if_contains(key);
  json::error_code error;
  const auto number = v == nullptr ? 0 : v->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

} // namespace

sidecar sidecar_of(const json::object& from) {
  sidecar said{figure(from, "bytes"), figure(from, "events"), std::nullopt};
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
  const sidecar said = sidecar_of(v.get_object());
  if (said.events > said.bytes / sizeof(packed_event))
    return {std::nullopt, fmt::format("{} says {} events in {} bytes, which hold fewer", name,
                                      said.events, said.bytes)};
  return {said, {}};
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

std::vector<std::string> cut_files_in(const fs::path& folder, std::span<const torn_end> torn) {
  std::vector<std::string> faults;
  for (const block_file_name& f : block_files_in(folder)) {
    if (!f.complete) continue;
    const fs::path file = folder / f.text();
    const sidecar_look beside = read_sidecar(file);
    std::string fault = beside.said ? length_fault(file, *beside.said) : beside.fault;
    if (fault.empty() && std::ranges::find(torn, file.string(), &torn_end::path) != torn.end())
      fault = f.text() + " is complete by its name, and ends within a block";
    if (!fault.empty()) faults.push_back(std::move(fault));
  }
  return faults;
}

} // namespace l3
