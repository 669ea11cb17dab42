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

namespace l3::bench {
namespace {

struct comparison_row {
  std::string file;
  std::string what;
  double bytes = 0;
  /// Times of a pass over all waveforms of the file. Limits are not timed: their medians are 0.
  timing encode{};
  timing decode{};
};

struct comparison_report {
  std::uint32_t samples = 0;        ///< per waveform
  std::vector<comparison_row> rows; ///< file by file, each in the same order
  std::vector<double> plain_bytes;  ///< by file

  [[nodiscard]] bool all_right() const;
};

namespace json = boost::json;
using input = std::span<const std::byte>;
using output = std::span<std::byte>;

constexpr const char* koto_name = "koto records";
constexpr const char* strong_name = "strong";
constexpr const char* xz_name = "xz -6";

std::span<const std::uint16_t> samples_in(input in) {
  return {reinterpret_cast<const std::uint16_t*>(in.data()), in.size() / sizeof(std::uint16_t)};
}
std::span<std::uint16_t> samples_in(output out) {
  return {reinterpret_cast<std::uint16_t*>(out.data()), out.size() / sizeof(std::uint16_t)};
}

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

double koto_bytes_of(const comparison_report& r, const std::string& file) {
  const auto found = std::ranges::find_if(
      r.rows, [&](const comparison_row& row) { return row.file == file && row.what == koto_name; });
  return found->bytes;
}

struct means {
  double ratio = 1;
  double koto_ratio = 1;
  double least_koto_ratio = 0;
  double encode = 1; ///< waveform bytes per second; 0 for a limit
  double decode = 1;
};

double plain_bytes_of(const comparison_report& r, std::size_t row) {
  return r.plain_bytes[row / (r.rows.size() / r.plain_bytes.size())];
}

/// Means of one codec or limit, whose rows have the same place in every file.
means means_of(const comparison_report& r, std::size_t place) {
  means m;
  const std::size_t files = r.plain_bytes.size();
  const std::size_t each = r.rows.size() / files;
  double ratio = 0, koto = 0, encode = 0, decode = 0;
  bool timed = true;
  for (std::size_t f = 0; f < files; ++f) {
    const comparison_row& row = r.rows[f * each + place];
    const double fewer = koto_bytes_of(r, row.file) / row.bytes;
    m.least_koto_ratio = f == 0 ? fewer : std::min(m.least_koto_ratio, fewer);
    ratio += std::log(r.plain_bytes[f] / row.bytes);
    koto += std::log(fewer);
    timed = timed && row.encode.median > 0;
    if (!timed) continue;
    encode += std::log(r.plain_bytes[f] / row.encode.median);
    decode += std::log(r.plain_bytes[f] / row.decode.median);
  }
  const auto n = static_cast<double>(files);
  m.ratio = std::exp(ratio / n);
  m.koto_ratio = std::exp(koto / n);
  m.encode = timed ? std::exp(encode / n) : 0;
  m.decode = timed ? std::exp(decode / n) : 0;
  return m;
}

std::string general_name(const comparison_row& row) {
  return row.what.starts_with("limit: entropy") ? "limit: entropy" : row.what;
}

bool comparison_report::all_right() const {
  return std::ranges::all_of(
      rows, [](const comparison_row& r) { return r.encode.right && r.decode.right; });
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

/// Measures all codecs on a file, and adds their rows and then the limits to the report.
void compare(const std::string& file, std::uint32_t rounds, comparison_report& to) {
  const auto samples = waveforms_of(file, to.samples);
  std::vector<general_codec> codecs{koto_records(), strong_groups(to.samples)};
  std::ranges::move(general_codecs(codec_set::wide), std::back_inserter(codecs));
  const auto encoders = codec_entrants(codec_direction::pack, samples, codecs);
  const auto encoded = measure(entrants_of(encoders), {rounds});
  const auto decoders = codec_entrants(codec_direction::unpack, samples, codecs);
  const auto decoded = measure(entrants_of(decoders), {rounds});

  const std::string name = std::filesystem::path(file).filename().string();
  to.plain_bytes.push_back(static_cast<double>(samples.size() * sizeof samples[0]));
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    auto bytes = static_cast<double>(*encoders[i].packed_bytes);
    if (codecs[i].name == koto_name) bytes = packed_file_bytes(file, to.samples, pack_stream);
    if (codecs[i].name == strong_name) bytes = packed_file_bytes(file, to.samples, pack_strong);
    to.rows.push_back({name, codecs[i].name, bytes, encoded[i], decoded[i]});
  }
  const codec_limit limit = entropy_limit(samples, to.samples);
  to.rows.push_back({name, limit.what, limit.bytes});
}

/// `ratio`: compression relative to the bytes of the waveforms, `koto_ratio` to those of KOTO
/// records. A mean over files is geometric.
json::object to_json(const comparison_report& r) {
  json::object report = report_of("codecs");
  report["samples"] = r.samples;

  json::array rows;
  double koto_bytes = 0;
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    const comparison_row& row = r.rows[i];
    const double plain = plain_bytes_of(r, i);
    if (row.what == koto_name) koto_bytes = row.bytes;
    json::object o{{"file", row.file},
                   {"what", row.what},
                   {"bytes", row.bytes},
                   {"ratio", plain / row.bytes},
                   {"koto_ratio", koto_bytes / row.bytes}};
    if (row.encode.median > 0) {
      o["encode"] = rated({}, "bytes_per_second", plain, row.encode);
      o["decode"] = rated({}, "bytes_per_second", plain, row.decode);
    }
    rows.push_back(std::move(o));
  }
  report["rows"] = std::move(rows);

  const std::size_t files = r.plain_bytes.size();
  const std::size_t each = r.rows.size() / files;
  json::array over_files;
  std::size_t strong = 0, xz = each;
  for (std::size_t place = 0; place < each; ++place) {
    const means m = means_of(r, place);
    const std::string what = general_name(r.rows[place]);
    if (what == strong_name) strong = place;
    if (what == xz_name) xz = place;
    json::object o{{"what", what},
                   {"ratio", m.ratio},
                   {"koto_ratio", m.koto_ratio},
                   {"least_koto_ratio", m.least_koto_ratio}};
    if (m.encode > 0) {
      o["encoded_bytes_per_second"] = m.encode;
      o["decoded_bytes_per_second"] = m.decode;
    }
    over_files.push_back(std::move(o));
  }
  report["over_files"] = std::move(over_files);
  report["files"] = files;
  if (xz != each) {
    std::size_t better = 0;
    for (std::size_t f = 0; f < files; ++f)
      better += r.rows[f * each + strong].bytes < r.rows[f * each + xz].bytes ? 1 : 0;
    report["files_where_strong_is_shorter_than_xz_6"] = better;
  }
  return report;
}

} // namespace
} // namespace l3::bench

namespace l3 {
namespace {

using namespace bench;

struct comparison_options {
  std::vector<std::string> files;
  std::uint32_t samples = koto::record_samples;
  std::uint32_t rounds = 5;
  bool as_json = false;
};

int compare_all(const comparison_options& o) {
  // A bad file is refused before the measurement.
  for (const std::string& file : o.files) (void)waveforms_of(file, o.samples);
  comparison_report r;
  r.samples = o.samples;
  for (const std::string& file : o.files) compare(file, o.rounds, r);
  return print_report(to_json(r), o.as_json, r.all_right());
}

} // namespace

void add_bench_codecs(command_line program, command_body& run) {
  auto o = std::make_shared<comparison_options>();
  const auto c = program.add_subcommand("codecs", "Compare our codecs with others on recorded "
                                                  "waveforms");
  c.add_option("FILES", o->files, "Bare waveforms, as `koto-l3 pack` reads them").required();
  add_samples(c, o->samples);
  add_count(c, "--rounds", o->rounds, "Rounds of measurement", 1, 10'000);
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] { run = [o] { return compare_all(*o); }; });
}

} // namespace l3
