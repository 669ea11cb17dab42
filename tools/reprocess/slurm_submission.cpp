// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/slurm_submission.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/command_error.hpp"
#include "tools/rehearsal/child_process.hpp"

namespace l3 {

namespace fs = std::filesystem;

namespace {

/// An array's numbers are below Slurm's MaxArraySize, by default 1001.
constexpr std::uint64_t array_size = 1000;

fs::path script_of(const slurm_options& how) {
  fs::path script = how.script.empty()
                        ? program_folder() / "../share/koto-l3/koto-l3-reprocess.sbatch"
                        : fs::path(how.script);
  if (!fs::is_regular_file(script))
    throw command_error("there is no script " + script.string() + ": name it by --script",
                        exit_missing_resource);
  return script;
}

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// What it printed: the job's number, and perhaps a cluster behind a semicolon.
std::string run_sbatch(const reprocess_folder& folder, std::vector<std::string> arguments) {
  const auto sbatch = find_program("sbatch");
  if (!sbatch)
    throw command_error("there is no sbatch in PATH: this machine submits no jobs to Slurm",
                        exit_missing_resource);
  arguments.insert(arguments.begin(), {sbatch->string(), "--parsable"});
  const fs::path said = folder.pending("sbatch");
  (void)::unlink(said.c_str());
  child_process child(arguments, said);
  constexpr std::chrono::minutes patience{5};
  const auto code = child.wait(patience);
  std::string text = text_of(said);
  (void)::unlink(said.c_str());
  while (text.ends_with('\n')) text.pop_back();
  if (code != 0)
    throw command_error("sbatch ends with " + (code ? std::to_string(*code) : "no answer") + ": " +
                        text);
  return text.substr(0, text.find(';'));
}

/// "1-3,7": the places in an array.
std::string places_text(const std::vector<std::uint64_t>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", places[i]);
    if (end - i > 1) text += fmt::format("-{}", places[end - 1]);
    i = end;
  }
  return text;
}

} // namespace

std::vector<std::string> submit(const slurm_options& how, const reprocess_folder& folder,
                                const std::vector<std::uint64_t>& tasks,
                                const std::vector<std::string>& more) {
  const fs::path script = fs::canonical(script_of(how));
  const std::string out = fs::canonical(folder.store()).string();
  const std::string program = (program_folder() / "koto-l3").string();
  std::map<std::uint64_t, std::vector<std::uint64_t>> arrays; // by the task before their first
  for (const std::uint64_t t : tasks)
    arrays[(t - 1) / array_size * array_size].push_back((t - 1) % array_size + 1);
  const auto logs = [&](const char* name) {
    return "--output=" + (folder.own() / fmt::format("slurm-{}.log", name)).string();
  };
  const auto command = [&](std::vector<std::string> first, const std::string& before) {
    first.insert(first.end(), how.options.begin(), how.options.end());
    first.insert(first.end(), {script.string(), before, program, "reprocess", "--out", out});
    return first;
  };
  std::vector<std::string> jobs;
  for (const auto& [before, places] : arrays) {
    auto arguments =
        command({"--array=" + places_text(places), logs("%A-%a")}, std::to_string(before));
    arguments.insert(arguments.end(), more.begin(), more.end());
    jobs.push_back(run_sbatch(folder, std::move(arguments)));
  }
  std::string after = "--dependency=afterany";
  for (const std::string& job : jobs) after += ":" + job;
  std::vector<std::string> first{logs("check-%j")};
  if (!jobs.empty()) first.push_back(after);
  jobs.push_back(run_sbatch(folder, command(std::move(first), "check")));
  return jobs;
}

} // namespace l3
