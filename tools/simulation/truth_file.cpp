// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace l3 {
namespace {

/// Writes one object or list. Numbers have three digits after the point, which is enough and the
/// same on any machine.
/// same on any machine.
class json_line {
public:
  explicit json_line(std::string& out) : out_(out) {}

  json_line& raw(std::string_view text) {
    out_ += text;
    return *this;
  }
  json_line& key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return *this;
  }
  json_line& text(std::string_view value) {
    out_ += '"';
    out_ += value;
    out_ += '"';
    return *this;
  }
  json_line& whole(std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out_.append(buffer.data(), r.ptr);
    return *this;
  }
  json_line& figure(double value) {
    std::array<char, 64> buffer{};
    const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, 3);
    out_.append(buffer.data(), r.ptr);
    return *this;
  }

private:
  std::string& out_;
};

std::string_view name_of(true_charged::kind k) {
  switch (k) {
  case true_charged::kind::pion: return "pion";
  case true_charged::kind::muon: return "muon";
  case true_charged::kind::electron: break;
  }
  return "electron";
}

} // namespace

void append_truth(std::string& out, const detector& d, const true_event& e, event_key key,
                  std::chrono::nanoseconds since_spill) {
  json_line line(out);
  const auto separate = [&, first = true]() mutable {
    if (!first) out += ',';
    first = false;
  };
  line.raw("{").key("spill").whole(key.spill).key("event").whole(key.number);
  line.key("since_spill").whole(since_spill.count()).key("type").text(name_of(e.type));
  line.key("trigger_bits").whole(e.trigger_bits);
  if (e.vertex_z != 0) {
    line.key("vertex").raw("[").figure(e.vertex_x).raw(",").figure(e.vertex_y);
    line.raw(",").figure(e.vertex_z).raw("]").key("kaon_momentum").figure(e.kaon_momentum);
  }
  line.key("photons").raw("[");
  for (auto next = separate; const auto& p : e.photons) {
    next();
    line.raw("{").key("energy").figure(p.energy).key("hit");
    switch (p.hit) {
    case true_photon::target::calorimeter: line.text("CsI"); break;
    case true_photon::target::veto: line.text(d.vetoes()[p.veto].name); break;
    case true_photon::target::nothing: line.raw("null"); break;
    }
    if (p.hit == true_photon::target::calorimeter) line.key("deposit").figure(p.deposit);
    if (p.hit != true_photon::target::nothing)
      line.key("x").figure(p.x).key("y").figure(p.y).key("time").figure(p.time);
    line.raw("}");
  }
  if (!e.charged.empty()) {
    line.raw("]").key("charged").raw("[");
    for (auto next = separate; const auto& p : e.charged) {
      next();
      line.raw("{").key("particle").text(name_of(p.what)).key("momentum").figure(p.momentum);
      if (p.deposit > 0)
        line.key("deposit").figure(p.deposit).key("x").figure(p.x).key("y").figure(p.y);
      if (p.deposit > 0) line.key("time").figure(p.time);
      line.raw("}");
    }
  }
  line.raw("]").key("counters").raw("[");
  for (auto next = separate; const auto& h : e.hits) {
    next();
    line.raw("{").key("name").text(d.vetoes()[h.veto].name).key("module").whole(h.module);
    line.key("energy").figure(h.energy).key("time").figure(h.time).key("z").figure(h.z);
    line.key("accidental").raw(h.accidental ? "true}" : "false}");
  }
  line.raw("]").key("accidental_crystals").raw("[");
  for (auto next = separate; const auto& a : e.accidentals) {
    const auto& c = d.crystals()[a.crystal];
    next();
    line.raw("{").key("x").figure(c.x).key("y").figure(c.y);
    line.key("energy").figure(a.energy).key("time").figure(a.time).raw("}");
  }
  line.raw("]}\n");
}

truth_file::truth_file(const std::filesystem::path& file)
    : path_(file), file_(std::fopen(file.c_str(), "we")) {
  if (!file_) fail();
}

void truth_file::fail() const {
  throw std::runtime_error("cannot write " + path_.string() + ": " +
                           std::generic_category().message(errno));
}

void truth_file::write(const std::string& lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size()) fail();
}

void truth_file::close() {
  if (std::fclose(file_.release()) != 0) fail();
}

} // namespace l3
