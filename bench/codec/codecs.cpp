// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench codecs FILES`: compares our waveform codecs with others on the same files.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "bench/codec/codec_entrants.hpp"
#include "bench/codec/codec_limits.hpp"
#include "bench/codec/general_codecs.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "gpu/codec/koto.hpp"
#include "gpu/codec/strong_groups.hpp"
#include "gpu/codec/waveforms.hpp"
#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/pack/byte_stream.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;
using input = std::span<const std::byte>;
using output = std::span<std::byte>;

constexpr const char* koto_name = "koto records";
constexpr const char* strong_name = "strong";

general_codec koto_records() {
  return {koto_name, [](input in, output out) { return koto::pack(samples_in(in), out); },
          [](input in, output out) {
            const auto r = koto::unpack(in, samples_in(out));
            return r.status == koto::unpack_status::done ? out.size() : 0;
          }};
}

/// The last group may have fewer records, as in a file.
general_codec strong_groups(std::uint32_t samples) {
  using namespace strong;
  const shape of = shape_of(samples);
  const auto last = std::make_shared<std::vector<std::uint16_t>>(group_samples);
  return {strong_name,
          [of, last](input in, output out) {
            const auto all = samples_in(in);
            const std::size_t whole = all.size() / group_samples * group_samples;
            std::size_t used = whole == 0 ? 0 : encode(all.first(whole), of, out);
            if (whole == all.size()) return used;
            std::ranges::copy(all.subspan(whole), last->begin());
            fill_up(*last, all.size() - whole);
            used += encode(*last, of, out.subspan(used));
            return used;
          },
          [of, last](input in, output out) -> std::size_t {
            const auto all = samples_in(out);
            const std::size_t whole = all.size() / group_samples * group_samples;
            const auto r = decode(in, of, all.first(whole));
            if (r.damaged || r.groups * group_samples != whole) return 0;
            if (whole == all.size()) return r.bytes == in.size() ? out.size() : 0;
            const auto rest = decode(in.subspan(r.bytes), of, *last);
            if (rest.damaged || rest.groups != 1 || r.bytes + rest.bytes != in.size()) return 0;
            std::ranges::copy(std::span(*last).first(all.size() - whole),
                              all.begin() + static_cast<std::ptrdiff_t>(whole));
            return out.size();
          }};
}

/// Length of the output of `koto-l3 pack`, with all heads and checksums.
double packed_file_bytes(const std::string& file, std::uint32_t samples,
                         decltype(pack_stream)* pack) {
  byte_input in(file);
  byte_output out("/dev/null", in);
  pack(in, out, samples, [](std::uint64_t) {});
  out.close();
  return static_cast<double>(out.written());
}

/// Reads bare waveforms of `samples` each. Throws command_error if the file is empty or has an
/// incomplete waveform.
std::vector<std::uint16_t> waveforms_of(const std::string& file, std::uint32_t samples) {
  constexpr std::uint64_t most = 1 << 30; // lz4 counts in ints
  const input_text in = read_input(file, most);
  if (!in.refusal.empty()) throw command_error(file + " " + in.refusal, exit_missing_resource);
  const std::size_t each = samples * sizeof(std::uint16_t);
  if (in.text.empty()) throw command_error(file + " is empty: it holds no waveform");
  if (const auto rest = in.text.size() % each; rest != 0)
    throw command_error(
        fmt::format("{}: offset {}: {} bytes are left, not a whole waveform of {} samples", file,
                    in.text.size() - rest, rest, samples));
  std::vector<std::uint16_t> all(in.text.size() / sizeof(std::uint16_t));
  std::memcpy(all.data(), in.text.data(), in.text.size());
  return all;
}

/// The results of one codec or limit, a value a file.
struct results {
  std::string what;
  std::vector<double> ratio{};      ///< bytes of the waveforms over its bytes
  std::vector<double> koto_ratio{}; ///< bytes of KOTO records over its bytes
  std::vector<double> encode{};     ///< waveform bytes per second; empty for a limit
  std::vector<double> decode{};
};

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

class comparison {
public:
  comparison(std::uint32_t samples, std::uint32_t rounds) : samples_(samples), rounds_(rounds) {}

  /// Measures all codecs on a file, then computes the limit.
  void add(const std::string& file) {
    const auto samples = waveforms_of(file, samples_);
    std::vector<general_codec> codecs{koto_records(), strong_groups(samples_)};
    std::ranges::move(general_codecs(), std::back_inserter(codecs));
    const auto encoders = codec_entrants(codec_direction::pack, samples, codecs);
    const auto encoded = measure(entrants_of(encoders), {rounds_});
    const auto decoders = codec_entrants(codec_direction::unpack, samples, codecs);
    const auto decoded = measure(entrants_of(decoders), {rounds_});

    const auto plain = static_cast<double>(samples.size() * sizeof samples[0]);
    const double koto_bytes = packed_file_bytes(file, samples_, pack_stream);
    for (std::size_t i = 0; i < codecs.size(); ++i) {
      auto bytes = static_cast<double>(*encoders[i].packed_bytes);
      if (codecs[i].name == koto_name) bytes = koto_bytes;
      if (codecs[i].name == strong_name) bytes = packed_file_bytes(file, samples_, pack_strong);
      json::object& row = add_row(file, codecs[i].name, plain, koto_bytes, bytes);
      row["encode"] = rated({}, "bytes_per_second", plain, encoded[i]);
      row["decode"] = rated({}, "bytes_per_second", plain, decoded[i]);
      results& r = of(codecs[i].name);
      r.encode.push_back(plain / encoded[i].median);
      r.decode.push_back(plain / decoded[i].median);
      right_ = right_ && encoded[i].right && decoded[i].right;
    }
    add_row(file, "limit: entropy", plain, koto_bytes, entropy_limit(samples, samples_));
  }

  [[nodiscard]] int print(bool as_json) {
    json::array over_files;
    for (const results& r : results_) {
      json::object o{{"what", r.what},
                     {"ratio", geometric_mean(r.ratio)},
                     {"koto_ratio", geometric_mean(r.koto_ratio)},
                     {"least_koto_ratio", std::ranges::min(r.koto_ratio)}};
      if (!r.encode.empty()) {
        o["encoded_bytes_per_second"] = geometric_mean(r.encode);
        o["decoded_bytes_per_second"] = geometric_mean(r.decode);
      }
      over_files.push_back(std::move(o));
    }
    json::object report = report_of("codecs");
    report["samples"] = samples_;
    report["rows"] = std::move(rows_);
    report["over_files"] = std::move(over_files);
    return print_report(report, as_json, right_);
  }

private:
  results& of(const std::string& what) {
    const auto at = std::ranges::find(results_, what, &results::what);
    return at != results_.end() ? *at : results_.emplace_back(results{what});
  }

  json::object& add_row(const std::string& file, const std::string& what, double plain,
                        double koto_bytes, double bytes) {
    of(what).ratio.push_back(plain / bytes);
    of(what).koto_ratio.push_back(koto_bytes / bytes);
    return rows_
        .emplace_back(json::object{{"file", std::filesystem::path(file).filename().string()},
                                   {"what", what},
                                   {"bytes", bytes},
                                   {"ratio", plain / bytes},
                                   {"koto_ratio", koto_bytes / bytes}})
        .as_object();
  }

  std::uint32_t samples_; ///< per waveform
  std::uint32_t rounds_;
  json::array rows_; ///< file by file
  std::vector<results> results_;
  bool right_ = true;
};

struct comparison_options {
  std::vector<std::string> files;
  std::uint32_t samples = koto::record_samples;
  turn_options turns{.rounds = 5};
};

int compare_all(const comparison_options& o) {
  // A bad file is refused before the measurement.
  for (const std::string& file : o.files) (void)waveforms_of(file, o.samples);
  comparison all(o.samples, o.turns.rounds);
  for (const std::string& file : o.files) all.add(file);
  return all.print(o.turns.as_json);
}

} // namespace

void add_bench_codecs(command_line program, command_body& run) {
  auto o = std::make_shared<comparison_options>();
  const auto c = program.add_subcommand("codecs", "Compare our codecs with others on recorded "
                                                  "waveforms");
  c.add_option("FILES", o->files, "Bare waveforms, as `koto-l3 pack` reads them").required();
  add_samples(c, o->samples);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return compare_all(*o); }; });
}

} // namespace l3
