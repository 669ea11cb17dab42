// SPDX-License-Identifier: Apache-2.0
#include "reading/schema.hpp"

#include <string>
#include <vector>

#include "transport/format/summary.hpp"

namespace l3::reading {

namespace {

/// A field's description for people; the schema has its type.
struct words {
  const char* name;
  const char* about;
  double scale = 1;
  const char* unit = "";
  bool nullable = false;
};

constexpr double mev = 0.001;
constexpr double mm = 0.1;
constexpr double ns = 1.0 / 128;

template <class T>
constexpr l3_read_type type_of = std::is_same_v<T, std::uint8_t>    ? L3_READ_U8
                                 : std::is_same_v<T, std::uint16_t> ? L3_READ_U16
                                 : std::is_same_v<T, std::uint32_t> ? L3_READ_U32
                                 : std::is_same_v<T, std::uint64_t> ? L3_READ_U64
                                 : std::is_same_v<T, std::int16_t>  ? L3_READ_I16
                                 : std::is_same_v<T, std::int32_t>  ? L3_READ_I32
                                                                    : L3_READ_F64;

template <template <template <class> class> class Fields, std::size_t n>
void add(std::vector<l3_read_field>& to, const words (&about)[n]) {
  static_assert(n == field_count<Fields>, "each field has its words");
  const words* next = about;
  const auto describe = [&](l3_read_type type) {
    to.push_back({next->name, type, next->nullable ? 1 : 0, next->scale, next->unit, next->about});
    ++next;
  };
  const Fields<column_of> all{};
  with_fields<n>(all, [&](auto... c) { (describe(type_of<typename decltype(c)::type>), ...); });
}

void add_text(std::vector<l3_read_field>& to, const char* name, const char* about) {
  to.push_back({name, L3_READ_TEXT, 0, 1, "", about});
}

words of_quantity(quantity q) {
  const char* const name = name_of(q).data(); // a literal
  switch (q) {
  case quantity::calorimeter_energy:
    return {name, "sum of all in-time crystals above threshold", mev, "MeV"};
  case quantity::crystals: return {name, "number of in-time crystals above threshold"};
  case quantity::clusters: return {name, "clusters of two crystals or more"};
  case quantity::photons: return {name, "clusters in time with enough energy"};
  case quantity::photon_energy: return {name, "energy of all photons", mev, "MeV"};
  case quantity::photon_energy_min: return {name, "lowest energy of a photon", mev, "MeV"};
  case quantity::photon_energy_max: return {name, "highest energy of a photon", mev, "MeV"};
  case quantity::photon_inner: return {name, "least max(|x|, |y|) of any photon", mm, "mm"};
  case quantity::photon_radius:
    return {name, "distance of the outermost photon from the axis", mm, "mm"};
  case quantity::photon_distance:
    return {name, "distance between the two nearest photons", mm, "mm"};
  case quantity::photon_time_spread:
    return {name, "time between the first and the last photon", ns, "ns"};
  case quantity::centre_radius:
    return {name, "distance of the energy-weighted mean from the axis", mm, "mm"};
  case quantity::opening:
    return {name, "cosine of the transverse angle between two photons", 0.001};
  case quantity::vertex_z:
    return {name, "z at which a neutral pion made the two photons", mm, "mm"};
  case quantity::transverse_momentum:
    return {name, "transverse momentum of that pion", mev, "MeV/c"};
  case quantity::event_time: return {name, "time of the event since the trigger's time", ns, "ns"};
  case quantity::count_: break;
  }
  return {name, ""};
}

std::vector<l3_read_field> fields_of_events() {
  std::vector<l3_read_field> all;
  add<key_fields>(
      all,
      {{"session", "the daemon's process, by its random number"},
       {"run", "number of the run"},
       {"node", "number of the level-3 node"},
       {"settings", "row of SETTINGS"},
       {"spill", "number of the spill, 0 to 511"},
       {"number", "number of the event in its spill, from 1"},
       {"state", "0, or 5 if the event is damaged"},
       {"flags", "bits: 0 incomplete, 1 a part could not be decoded, 2 a board compressed itself"},
       {"kept_waveforms", "0 all, 1 suppressed, 2 features, 3 summary"},
       {"reference_time", "time stamp of the first board, 28 bits", 8, "ns"},
       {"bytes", "length in the file"}});
  add<decision_fields>(
      all,
      {{"selected", "1 if the event has a summary"},
       {"settings_hash", "hash of the settings that decided"},
       {"fired", "bit n: line n fired, before its prescale"},
       {"kept_by", "bit n: line n kept the event"},
       {"vetoes", "bit n: counter n fired"},
       {"unknown", "bit n: counter n could not be read; 30 trigger, 31 calorimeter"},
       {"trigger", "level-1 trigger bits"},
       {"status", "bits: 0 too many clusters, 1 too many hits, 2 more photons, 3 only recorded"},
       {"photons_found", "number of photons, also those beyond the list's 16"},
       {"asked", "bit n: line n asked for the waveforms that are kept"},
       {"control", "bit n: line n took the event for its control sample"}});
  for (std::uint32_t q = 0; q < quantities; ++q) {
    const words w = of_quantity(static_cast<quantity>(q));
    all.push_back({w.name, L3_READ_I32, 1, w.scale, w.unit, w.about});
  }
  return all;
}

std::vector<l3_read_field> make_fields(l3_read_table table) {
  std::vector<l3_read_field> all;
  switch (table) {
  case L3_READ_EVENTS: return fields_of_events();
  case L3_READ_PHOTONS:
    add<photon_fields>(all, {{"energy", "energy", mev, "MeV"},
                             {"time", "time since the trigger's time", ns, "ns"},
                             {"x", "energy-weighted mean", mm, "mm"},
                             {"y", "energy-weighted mean", mm, "mm"},
                             {"crystals", "number of crystals"}});
    break;
  case L3_READ_HITS:
    add<hit_fields>(all, {{"energy", "energy; photoelectrons in the in-beam counters", mev, "MeV"},
                          {"time", "time since the trigger's time", ns, "ns"},
                          {"module", "counted in its counter"},
                          {"counter", "bit of the counter"}});
    break;
  case L3_READ_DECISIONS:
    add<line_decision_fields>(all, {{"id", "FNV-1a hash of the line's name"},
                                    {"prescale", "one in this many events is kept"},
                                    {"reason", "why the line did not keep the event; 0: it did"},
                                    {"payload", "what the line keeps: 0 all to 3 summary"},
                                    {"control", "one in this many events keeps all; 0: none"}});
    break;
  case L3_READ_SESSIONS:
    add<session_fields>(
        all, {{"session", "random number"},
              {"run", "number of the run"},
              {"node", "number of the level-3 node"},
              {"settings", "row of SETTINGS"},
              {"blocks", "blocks stored here"},
              {"events", "events stored here"},
              {"left_out", "events that another session had stored"},
              {"bytes", "bytes of its events"},
              {"begin", "when its first block was sealed, since 1970-01-01 UTC", 1, "ns"},
              {"end", "when its last block was sealed", 1, "ns"}});
    break;
  case L3_READ_SETTINGS:
    add<settings_fields>(all, {{"hash", "hash in the events' summaries; 0 without a selection"},
                               {"record", "1 if every event was kept"}});
    add_text(all, "software", "program and version that decided");
    add_text(all, "menu", "text of selection.lines");
    add_text(all, "detector", "text of selection.detector");
    add_text(all, "calibration", "table of the run; empty if nominal");
    break;
  case L3_READ_LINES:
    add<line_fields>(all, {{"settings", "row of SETTINGS"},
                           {"bit", "bit in fired and kept_by"},
                           {"id", "FNV-1a hash of the line's name"},
                           {"prescale", "one in this many events is kept"},
                           {"payload", "what the line keeps: 0 all to 3 summary"},
                           {"control", "one in this many events keeps all; 0: none"},
                           {"priority", "lines of the highest priority are shed last"}});
    add_text(all, "name", "name of the line");
    break;
  case L3_READ_COUNTERS:
    add<counter_fields>(all, {{"settings", "row of SETTINGS"},
                              {"bit", "bit in vetoes and unknown"},
                              {"threshold", "least energy of a hit that counts", mev, "MeV"},
                              {"from", "start of its window", ns, "ns"},
                              {"to", "end of its window", ns, "ns"},
                              {"modules", "number of modules"}});
    add_text(all, "name", "name of the counter");
    break;
  case L3_READ_CHANNELS:
    add<channel_fields>(all, {{"settings", "row of SETTINGS"},
                              {"crate", "number of the crate"},
                              {"slot", "slot of the board, from 3"},
                              {"channel", "channel of the board"},
                              {"length", "samples of a waveform: 64 or 256"},
                              {"kind", "0 unused, 1 crystal, 2 counter"},
                              {"counter", "bit of the counter"},
                              {"module", "number of the crystal, or of the module in its counter"},
                              {"end", "end of the module"},
                              {"x", "middle of the crystal", 1, "mm"},
                              {"y", "middle of the crystal", 1, "mm"},
                              {"size", "side of the crystal", 1, "mm"}});
    add<calibration_fields>(
        all, {{"dead", "1 if the input gives no signal"},
              {"gain", "keV = (sum x gain) >> 16, with the pulse's sum"},
              {"time", "half height of an in-time pulse, since the first sample", ns, "ns"},
              {"least_height", "least height of a pulse", 1, "counts"},
              {"pedestal", "level without a pulse", 1, "counts"},
              {"noise", "rms; 0 if unknown", 1, "counts"}});
    add_text(all, "name", "\"crystal 17\", \"CBAR module 3 end 1\"");
    add_text(all, "detector", "\"CSI\", \"CBAR\"");
    break;
  case L3_READ_DAMAGE:
    add<damage_fields>(all, {{"offset", "where the damage begins in the file"},
                             {"bytes", "length of the damage"},
                             {"events", "events in it, as far as they are known"}});
    add_text(all, "file", "the file");
    add_text(all, "what", "what is wrong");
    break;
  case L3_READ_PULSES:
    add<pulse_fields>(
        all, {{"pedestal", "level of the quietest part", 0.25, "counts"},
              {"peak", "highest sample, pedestal included", 1, "counts"},
              {"peak_sample", "the sample of the peak"},
              {"flags", "bits: 0 pulse, 1 saturated, 2 flat, 3 another pulse, 4 no rising edge"},
              {"edge", "half height on the rising edge, since the first sample; 0 without edge",
               1.0 / 256, "samples"},
              {"sum", "weighted sum above the level around it", 0.25, "counts"},
              {"energy", "energy; photoelectrons in the in-beam counters", mev, "MeV", true},
              {"time", "time since the trigger's time", ns, "ns", true}});
    break;
  }
  return all;
}

} // namespace

std::span<const l3_read_field> fields_of(l3_read_table table) {
  static const auto all = [] {
    std::vector<std::vector<l3_read_field>> tables;
    for (int t = L3_READ_EVENTS; t <= L3_READ_PULSES; ++t)
      tables.push_back(make_fields(static_cast<l3_read_table>(t)));
    return tables;
  }();
  const auto n = static_cast<std::size_t>(table);
  return n < all.size() ? std::span<const l3_read_field>(all[n]) : std::span<const l3_read_field>();
}

} // namespace l3::reading
