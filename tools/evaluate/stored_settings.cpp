// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_settings.hpp"

#include <optional>

#include "selection/trigger/parse_selection.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

const told_settings none{
    nullptr, nullptr,
    "the settings of its session are missing: the file that has them is not here"};

} // namespace

stored_settings::stored_settings(const std::filesystem::path& folder, interrupt& signals)
    : folder_(folder), signals_(signals) {
  read();
}

void stored_settings::read() {
  store_reader in(folder_, [&] { return signals_.check(), false; });
  std::vector<std::byte> bytes;
  while (const auto block = in.next()) {
    told_settings& to = sessions_.try_emplace(block->header.session, none).first->second;
    if (block->header.settings_bytes == 0) continue;
    if (!in.read_settings(*block, bytes)) {
      if (!to.all) to.fault = "the block that holds its session's settings is damaged";
      continue;
    }
    const auto [of, is_new] = known_.try_emplace(bytes);
    if (is_new) {
      if (auto read = decode_settings(bytes))
        of->second = std::make_shared<const recorded_settings>(std::move(*read));
    }
    if (to.bytes == nullptr) {
      to = {of->second, &of->first,
            of->second ? "" : "its session's settings have another version or are invalid"};
    } else if (to.bytes != &of->first) {
      to.all.reset();
      to.fault = "its session has two different settings in this store";
    }
  }
}

const told_settings& stored_settings::of(const block_header& h) {
  if (const auto found = sessions_.find(h.session); found != sessions_.end()) return found->second;
  read();
  return sessions_.try_emplace(h.session, none).first->second;
}

std::vector<std::shared_ptr<const recorded_settings>> stored_settings::known() const {
  std::vector<std::shared_ptr<const recorded_settings>> all;
  for (const auto& [bytes, settings] : known_)
    if (settings) all.push_back(settings);
  return all;
}

readout stored_readout(const std::filesystem::path& folder, interrupt& signals) {
  std::optional<readout> stored;
  for (const auto& settings : stored_settings(folder, signals).known()) {
    if (stored && !(*stored == settings->crates))
      throw command_error(
          folder.string() +
              " has runs with two readouts: put the files of each into a separate folder",
          exit_bad_configuration);
    stored = settings->crates;
  }
  return stored.value_or(readout::koto());
}

std::map<std::uint32_t, std::string> stored_settings::line_names() const {
  auto names = l3::line_names(default_selection());
  for (const auto& settings : known()) names.merge(l3::line_names(settings->lines));
  return names;
}

} // namespace l3
