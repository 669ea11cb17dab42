// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/info/information.hpp"
#include "transport/file/l2raw.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct spill_facts {
  std::uint32_t spill = 0;
  std::uint64_t events = 0;
  std::uint64_t incomplete = 0;           ///< lack a crate's fragment
  std::optional<std::uint32_t> said{};    ///< number in the end-of-spill record
  std::optional<std::uint64_t> beam_on{}; ///< ns
};

json::object object_of(const spill_facts& s) {
  json::object o{{"spill", s.spill}, {"events", s.events}, {"incomplete", s.incomplete}};
  o["events_said_at_end"] = s.said ? json::value(*s.said) : json::value(nullptr);
  o["beam_on_seconds"] =
      s.beam_on ? json::value(static_cast<double>(*s.beam_on) / 1e9) : json::value(nullptr);
  return o;
}

class level2_facts {
public:
  explicit level2_facts(const readout& crates) : crates_(crates) {}

  void take(const record_view& r, std::vector<std::string>& damage) {
    ++records_;
    switch (r.header.type) {
    case record_type::begin_of_spill:
      spills_.push_back({.spill = r.header.spill});
      if (r.body.size() >= sizeof(begin_of_spill_body))
        spills_.back().beam_on = load<begin_of_spill_body>(r.body.data()).beam_on;
      return;
    case record_type::end_of_spill:
      if (r.body.size() >= sizeof(end_of_spill_body))
        of(r.header.spill).said = load<end_of_spill_body>(r.body.data()).events;
      return;
    case record_type::event: break;
    default: return;
    }
    spill_facts& spill = of(r.header.spill);
    if (const auto wrong = parse_event(r.body, crates_, event_)) {
      damage.push_back(fmt::format("record {}: {}", r.header.sequence, name_of(*wrong)));
      return;
    }
    ++spill.events;
    ++events_;
    fragments_ += event_.fragments.size();
    if (event_.fragments.size() < crates_.size()) ++spill.incomplete;
  }

  void write(json::object& to) const {
    to["records"] = records_;
    to["events"] = events_;
    to["fragments"] = fragments_;
    json::array spills;
    for (const spill_facts& s : spills_) spills.push_back(object_of(s));
    to["spills"] = std::move(spills);
  }

private:
  spill_facts& of(std::uint32_t spill) {
    if (spills_.empty() || spills_.back().spill != spill) spills_.push_back({.spill = spill});
    return spills_.back();
  }

  const readout& crates_;
  event_view event_;
  std::vector<spill_facts> spills_;
  std::uint64_t records_ = 1; ///< the hello
  std::uint64_t events_ = 0;
  std::uint64_t fragments_ = 0;
};

} // namespace

void describe_level2(const std::filesystem::path& file, const reading_progress& tell,
                     information& to) {
  l2raw_reader reader(file);
  to.facts["bytes"] = reader.size();
  if (!reader.damage()) {
    to.facts["run"] = reader.run();
    to.facts["crates"] = reader.crates().size();
    to.facts["boards"] = reader.crates().boards();
    level2_facts facts(reader.crates());
    while (const auto record = reader.next()) {
      facts.take(*record, to.damage);
      tell(reader.position(), reader.size());
    }
    facts.write(to.facts);
  }
  if (const auto& d = reader.damage())
    to.damage.push_back(fmt::format("{}; the remaining {} bytes are not read", d->text(),
                                    reader.size() - d->offset));
}

} // namespace l3
