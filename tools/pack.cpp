// SPDX-License-Identifier: Apache-2.0
// `koto-l3 pack` and `koto-l3 unpack`: convert bare waveforms to bare KOTO records or a file of the
// strong codec, and back.
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "gpu/codec/koto.hpp"
#include "tools/command_line.hpp"
#include "tools/info/information.hpp"
#include "tools/pack/byte_stream.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "transport/format/l2.hpp"

namespace l3 {
namespace {

struct options {
  std::string in;
  std::string out;
  std::uint32_t samples = l2::waveform_samples;
  bool samples_given = false;
  codec_id codec = codec_id::koto;
  bool json = false;
};

constexpr const char* standard_input = "-";
constexpr const char* standard_output = "-";

void convert(const options& o, bool packs, byte_input& in, byte_output& out,
             const packing_progress& tell) {
  if (o.codec == codec_id::koto)
    return (packs ? pack_stream : unpack_stream)(in, out, o.samples, tell);
  if (packs) return pack_strong(in, out, o.samples, tell);
  unpack_strong(in, out, o.samples_given ? std::optional(o.samples) : std::nullopt, tell);
}

/// Whether a file with this begin has bare records, which begin with a number of bits, or the head
/// of a strong codec file.
bool is_packed(std::string_view begin) {
  return static_cast<unsigned char>(begin.front()) <= koto::max_bits || begin.starts_with("KL3W");
}

/// Samples have no head, so unpacked ones cannot be told from recorded ones, which must not be
/// overwritten.
bool is_unpacked(std::string_view /*begin*/) { return false; }

/// Samples and records have no head, but another file of koto-l3 has one.
void check_input(const options& o, bool packs) {
  if (o.in == standard_input) return;
  if (std::filesystem::is_directory(o.in) || packs || o.codec == codec_id::koto) {
    if (const std::string is = known_kind(o.in); !is.empty())
      throw command_error(fmt::format("{} is {}: a file of {} is needed here", o.in, is,
                                      packs ? "bare samples" : "bare records"));
  } else {
    refuse_other_kind(o.in, stored_format::strong_waveforms,
                      "a file of the strong codec is needed here");
  }
}

int convert(const options& o, const char* label, bool packs) {
  const auto start = std::chrono::steady_clock::now();
  check_input(o, packs);
  auto in = opened([&] { return byte_input(o.in); });
  auto out = opened([&] {
    return from_option("out", o.out,
                       [&](const std::string& name) { return byte_output(name, in); });
  });
  if (o.out != standard_output) check_replaced(label, o.out, packs ? is_packed : is_unpacked);
  progress line(label, in.size().value_or(0), "bytes");
  convert(o, packs, in, out, [&](std::uint64_t n) { line.update(n); });
  out.close();
  line.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const auto plain = packs ? in.offset() : out.written();
  const auto packed = packs ? out.written() : in.offset();
  const double ratio = packed == 0 ? 0.0 : static_cast<double>(plain) / static_cast<double>(packed);
  const double rate = took.count() > 0 ? static_cast<double>(plain) / took.count() : 0.0;
  if (o.json) {
    const boost::json::object all{{"bytes_in", in.offset()},
                                  {"bytes_out", out.written()},
                                  {"ratio", ratio},
                                  {"seconds", took.count()},
                                  {"waveform_bytes_per_second", rate}};
    if (o.out == standard_output)
      print_error("{}\n", boost::json::serialize(all));
    else
      print_json("{}\n", boost::json::serialize(all));
    return 0;
  }
  constexpr double giga = 1e9;
  print_error("{}: {} bytes to {}, ratio {:.3f}, {:.2f} GB/s of waveforms\n", label, in.offset(),
              out.written(), ratio, rate / giga);
  return 0;
}

void add(command_line program, command_body& run, const char* name, const char* what,
         const char* in_is, const char* out_is, bool packs) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand(name, what);
  c.add_option("in", o->in, in_is).required();
  c.add_option("out", o->out, out_is).required();
  const option samples = add_samples(c, o->samples);
  c.add_option_function(
       "--codec",
       [o](const std::string& codec) {
         o->codec = codec == "strong" ? codec_id::strong : codec_id::koto;
       },
       "koto: records of 3 + 8 N bytes; strong: fewer bytes, slower")
      .check(one_of({"koto", "strong"}))
      .option_text("koto|strong [koto]");
  if (!packs)
    c.footer(
        "A file of the strong codec states its samples per waveform, and --samples must agree.");
  c.add_flag("--json", o->json,
             "report as JSON; on standard error if standard output has the data");
  c.callback([o, &run, name, packs, samples] {
    o->samples_given = samples.count() > 0;
    run = [o, name, packs] { return convert(*o, name, packs); };
  });
}

} // namespace

void add_pack(command_line program, command_body& run) {
  add(program, run, "pack", "pack bare waveforms as KOTO records, or with the strong codec",
      "samples as little-endian u16, one waveform after the other; - for standard input",
      "KOTO records without a header, or a file of the strong codec; - for standard output", true);
}

void add_unpack(command_line program, command_body& run) {
  add(program, run, "unpack", "turn the output of `pack` back into waveforms",
      "the output of `pack`; - for standard input",
      "samples as little-endian u16; - for standard output", false);
}

} // namespace l3
