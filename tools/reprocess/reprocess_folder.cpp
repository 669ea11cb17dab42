// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/reprocess_folder.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::uint64_t longest_json = std::uint64_t{64} << 20;

std::string host_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

[[noreturn]] void fail(const std::string& what, const fs::path& file) {
  throw std::system_error(last_error(), what + " " + file.string());
}

} // namespace

fs::path reprocess_folder::record(std::uint64_t task) const {
  return own_ / fmt::format("task-{:06}.json", task);
}

fs::path reprocess_folder::pending(const std::string& name) const {
  return own_ / fmt::format("{}-{}-{}.new", name, host_name(), ::getpid());
}

void reprocess_folder::remove_leftovers() const {
  const std::string here = "-" + host_name() + "-";
  const std::string_view end = ".new";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(own_, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto at = name.rfind(here);
    if (!name.ends_with(end) || at == name.npos) continue;
    const char* const first = name.data() + at + here.size();
    const char* const last = name.data() + name.size() - end.size();
    pid_t writer = 0;
    const auto [stopped, error] = std::from_chars(first, last, writer);
    if (error != std::errc{} || stopped != last || writer <= 0) continue;
    if (::kill(writer, 0) != 0 && errno == ESRCH) (void)::unlink(entry.path().c_str());
  }
}

void write_whole(const reprocess_folder& folder, const fs::path& file, const std::string& text) {
  const fs::path fresh = folder.pending(file.filename().string());
  const file_descriptor to = create_file(fresh, O_WRONLY | O_TRUNC);
  if (!to) fail("cannot write", fresh);
  if (const auto error = append_all(to.get(), std::as_bytes(std::span(text)))) {
    (void)::unlink(fresh.c_str());
    throw std::system_error(error, "cannot write " + fresh.string());
  }
  if (::fsync(to.get()) != 0) fail("cannot flush", fresh);
  if (::rename(fresh.c_str(), file.c_str()) != 0) fail("cannot name", file);
}

std::optional<json::value> read_json(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return std::nullopt;
  const input_text in = read_input(file, longest_json);
  if (!in.refusal.empty()) throw std::runtime_error(file.string() + " " + in.refusal);
  json::error_code wrong;
  json::value value = json::parse(in.text, wrong);
  if (wrong) throw std::runtime_error(file.string() + " is no JSON: " + wrong.message());
  return value;
}

std::string in_lines(const json::value& value, int indent) {
  constexpr int step = 2;
  const std::string inner(static_cast<std::size_t>(indent + step), ' ');
  const std::string outer(static_cast<std::size_t>(indent), ' ');
  std::string text;
  if (const auto* const object = value.if_object(); object != nullptr && !object->empty()) {
    for (const auto& [key, v] : *object)
      text += fmt::format("{}\n{}{}: {}", text.empty() ? "" : ",", inner,
                          json::serialize(json::value(key)), in_lines(v, indent + step));
    return "{" + text + "\n" + outer + "}";
  }
  const auto* const array = value.if_array();
  if (array != nullptr && !array->empty() && array->front().is_object()) {
    for (const json::value& v : *array)
      text += fmt::format("{}\n{}{}", text.empty() ? "" : ",", inner, in_lines(v, indent + step));
    return "[" + text + "\n" + outer + "]";
  }
  return json::serialize(value);
}

} // namespace l3
