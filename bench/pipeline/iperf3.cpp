// SPDX-License-Identifier: Apache-2.0
#include "bench/pipeline/iperf3.hpp"

#include <chrono>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>

#include "tools/rehearsal/child_process.hpp"
#include "tools/rehearsal/free_ports.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto start_time_limit = 5s;
constexpr auto run_time_limit = 20s;
constexpr double bits = 8; // in a byte

/// The client's answer; nothing if it could not connect, or said nothing that is one.
std::optional<double> rate_in(const std::filesystem::path& output) {
  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  json::error_code error;
  const auto said = json::parse(text.str(), error);
  if (error) return std::nullopt;
  const auto* rate = said.find_pointer("/end/sum_received/bits_per_second", error);
  return rate != nullptr && rate->is_number() ? std::optional(rate->to_number<double>() / bits)
                                              : std::nullopt;
}

} // namespace

iperf3_result run_iperf3(const std::filesystem::path& folder) {
  const auto program = find_program("iperf3");
  if (!program) return {{}, "iperf3 is not in PATH"};
  const std::string port = std::to_string(free_ports(1));
  child_process server({program->string(), "-s", "-1", "-B", "127.0.0.1", "-p", port},
                       folder / "iperf3-server.log");
  // It serves one connection and ends, so the only way to ask whether it listens is the real one.
  const auto output = folder / "iperf3.json";
  const auto deadline = std::chrono::steady_clock::now() + start_time_limit;
  do {
    std::filesystem::remove(output);
    child_process client({program->string(), "-c", "127.0.0.1", "-p", port, "-t", "5", "-J"},
                         output);
    const auto code = client.wait(run_time_limit);
    if (!code) return {{}, "iperf3 did not end"};
    if (const auto rate = rate_in(output); code == 0 && rate) return {rate, {}};
  } while (server.running() && std::chrono::steady_clock::now() < deadline);
  return {{}, "iperf3 failed: see " + output.string()};
}

} // namespace l3
