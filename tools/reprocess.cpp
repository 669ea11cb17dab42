// SPDX-License-Identifier: Apache-2.0
// `koto-l3 reprocess`: decides and packs stored runs again, a task a file, here or by Slurm, and
// proves from a manifest that each event is in exactly one output.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "monitor/version.hpp"
#include "tools/command.hpp"
#include "tools/crates_option.hpp"
#include "tools/evaluate/stored_readout.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/reprocess/file_reprocessor.hpp"
#include "tools/reprocess/reprocess_check.hpp"
#include "tools/reprocess/slurm_submission.hpp"
#include "tools/skip_damaged_option.hpp"
#include "tools/verify/payload_words.hpp"
#include "tools/verify/store_folder.hpp"
#include "tools/whole_number.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct options {
  selection_options how;
  std::vector<std::string> stores;
  std::vector<std::string> crates;
  std::optional<codec_id> codec;
  std::string out;
  std::optional<std::uint64_t> task;
  std::uint32_t jobs = 1;
  bool check = false;
  bool skip_damaged = false;
  bool skip_limited = false;
  bool accept_repeated = false;
  bool to_slurm = false;
  slurm_options slurm;
  bool json = false;
};

/// The hash of what these files decide, of all runs.
std::uint32_t settings_of(const options& o, const readout& crates) {
  const loaded_selection menu = load_selection(o.how, crates, std::nullopt);
  if (!menu.tables.packed_payloads.empty())
    throw command_error("the menu limits what is kept of events, and a reprocessing keeps all of "
                        "them; take payload out of its lines",
                        exit_bad_configuration);
  return menu.tables.constants.settings;
}

/// A plan is JSON, and finds its stores by their names.
void check_name(const std::string& store) {
  const std::string name = std::filesystem::canonical(store).string();
  if (json_in_utf8(name) != name)
    throw command_error(name + ": a plan names its stores in UTF-8, and this name is none: give "
                               "the folder another one",
                        exit_usage);
}

/// The plan in the folder, with the stores that were named added to it.
reprocess_plan make_plan(const options& o, const reprocess_folder& folder, interrupt& signals) {
  reprocess_plan plan;
  const bool is_new = !has_plan(folder);
  if (is_new && (o.stores.empty() || o.how.files.lines.empty()))
    throw command_error("a new reprocessing needs STORE and --menu; " + folder.store().string() +
                            " holds no plan",
                        exit_usage);
  // Nothing is made for a store that is none.
  for (const std::string& store : o.stores) {
    check_folder(store);
    check_store(store);
    check_name(store);
  }
  const std::optional<readout> stored = stored_readout(o.stores, signals);
  if (is_new) {
    plan.codec = o.codec;
    plan.crates = readout_of(stored, o.crates);
    plan.settings = settings_of(o, plan.crates);
  } else {
    plan = read_plan(folder);
    if (!o.crates.empty() && !(readout_of(o.crates) == plan.crates))
      throw command_error("--crates is not the readout with which " + folder.store().string() +
                              " was begun: name another folder",
                          exit_usage);
    if (stored && !(*stored == plan.crates))
      throw command_error(fmt::format("the readout of the stored runs is {}, and {} was begun with "
                                      "{}: name another folder",
                                      in_words(*stored), folder.store().string(),
                                      in_words(plan.crates)),
                          exit_usage);
    if (o.codec && o.codec != plan.codec)
      throw command_error(
          fmt::format("{} was begun {}: name another folder", folder.store().string(),
                      plan.codec ? fmt::format("with the codec {}", name_of(*plan.codec))
                                 : std::string("without --codec")),
          exit_usage);
    if (!o.how.files.lines.empty() && settings_of(o, plan.crates) != plan.settings)
      throw command_error(folder.store().string() +
                              " was begun with another menu, detector or calibration: name "
                              "another folder",
                          exit_usage);
  }
  const std::size_t before = plan.tasks.size();
  if (is_new) plan.files = keep_files(folder, o.how.files);
  plan.add_stores(folder, o.stores);
  if (is_new || plan.tasks.size() != before || !o.stores.empty()) write_plan(folder, plan);
  return plan;
}

/// Its record is of these settings, and its input and output have the lengths that it tells.
bool is_done(const reprocess_folder& folder, const reprocess_plan& plan,
             const reprocess_task& task) {
  const auto record = read_record(folder, task.number);
  if (!record || record->settings != plan.settings) return false;
  const auto has_length = [](const std::filesystem::path& file, std::uint64_t bytes) {
    std::error_code error;
    return std::filesystem::file_size(file, error) == bytes && !error;
  };
  std::error_code error;
  const std::filesystem::path input = task.path();
  // An input that was archived since is as it was.
  const bool input_is_same =
      !std::filesystem::exists(input, error) || has_length(input, record->input.bytes);
  const std::filesystem::path output = folder.store() / record->output.name;
  return input_is_same &&
         (record->output.name.empty() || has_length(output, record->output.bytes));
}

std::vector<std::uint64_t> open_tasks(const reprocess_folder& folder, const reprocess_plan& plan) {
  std::vector<std::uint64_t> open;
  for (const reprocess_task& t : plan.tasks)
    if (!is_done(folder, plan, t)) open.push_back(t.number);
  return open;
}

/// Runs tasks on as many threads as there are jobs. The first fault ends all.
class task_runner {
public:
  task_runner(const options& o, const reprocess_folder& folder, const reprocess_plan& plan,
              std::vector<std::uint64_t> tasks, interrupt& signals)
      : o_(o), folder_(folder), plan_(plan), tasks_(std::move(tasks)), signals_(signals) {}

  void run() {
    const auto jobs = std::min<std::size_t>(o_.jobs, tasks_.size());
    std::vector<std::jthread> threads;
    for (std::size_t j = 0; j < jobs; ++j) threads.emplace_back([this] { work(); });
    progress line("reprocess", tasks_.size(), "files");
    while (running_threads(jobs)) {
      if (signals_.came()) stop_ = true;
      line.update(done_);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    threads.clear();
    line.clear();
    if (signals_.came()) throw command_error("interrupted: what is done stays; run again to go on");
    if (fault_) std::rethrow_exception(fault_);
  }

private:
  bool running_threads(std::size_t jobs) const { return ended_ < jobs; }

  void work() {
    try {
      selection_options how = o_.how;
      // The jobs share the processors.
      if (how.compute.threads == 0 && o_.jobs > 1)
        how.compute.threads =
            static_cast<std::uint16_t>(std::max(1U, std::thread::hardware_concurrency() / o_.jobs));
      file_reprocessor worker(folder_, plan_, how, version_line("koto-l3"),
                              [this] { return stop_.load(); });
      for (std::size_t i = next_++; i < tasks_.size() && !stop_; i = next_++) {
        (void)worker.run(plan_.tasks[tasks_[i] - 1]);
        ++done_;
      }
    } catch (const scan_stopped&) { // told to
    } catch (...) {
      const std::lock_guard guard(lock_);
      if (!fault_) fault_ = std::current_exception();
      stop_ = true;
    }
    ++ended_;
  }

  const options& o_;
  const reprocess_folder& folder_;
  const reprocess_plan& plan_;
  std::vector<std::uint64_t> tasks_;
  interrupt& signals_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::size_t> ended_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex lock_;
  std::exception_ptr fault_;
};

json::object to_json(const reprocess_totals& t) {
  return {{"events", json::object{{"in", t.events},
                                  {"kept", t.kept},
                                  {"rejected", t.rejected},
                                  {"limited", t.limited},
                                  {"unreadable", t.unreadable.events},
                                  {"not_judged", t.not_judged}}},
          {"left_out", t.left_out},
          {"bytes", json::object{{"in", t.bytes_in}, {"out", t.bytes_out}}},
          {"tasks_done", t.tasks}};
}

void print_totals(const reprocess_totals& t, std::size_t tasks) {
  constexpr double megabyte = 1e6;
  print_plain(
      "{} of {} files are done: {} events, {} kept, {} rejected, {} not readable; {:.1f} MB "
      "in, {:.1f} MB out\n",
      t.tasks, tasks, t.events, t.kept, t.rejected, t.unreadable.events,
      static_cast<double>(t.bytes_in) / megabyte, static_cast<double>(t.bytes_out) / megabyte);
}

reprocess_totals totals_of(const reprocess_folder& folder, const reprocess_plan& plan) {
  reprocess_totals totals;
  for (const reprocess_task& t : plan.tasks)
    if (const auto record = read_record(folder, t.number); record) totals.add(*record);
  return totals;
}

/// No person reads more of a kind; --json has all.
constexpr std::size_t most_findings_told = 40;

std::span<const std::string> told_of(const std::vector<std::string>& texts) {
  return std::span(texts).first(std::min(texts.size(), most_findings_told));
}

/// 0 if all of the inputs could be decided again, or what could not is accepted.
int judge_inputs(const options& o, const reprocess_totals& t) {
  int code = 0;
  if (!t.unreadable.none()) {
    print_error(
        "{} places, {} blocks and {} events of the inputs could not be read, first of {}, and "
        "are in no output{}\n",
        t.unreadable.places, t.unreadable.blocks, t.unreadable.events, t.first_damaged,
        o.skip_damaged ? "" : " (--skip-damaged accepts that)");
    if (!o.skip_damaged) code = exit_failure;
  }
  for (const std::string& text : payload_words(t.left_out))
    print_error("left out: {}; not all their waveforms were kept{}\n", text,
                o.skip_limited ? "" : " (--skip-limited accepts that)");
  if (t.limited > 0 && !o.skip_limited) code = exit_failure;
  return code;
}

int check(const options& o, const reprocess_folder& folder) {
  interrupt signals;
  const reprocess_plan plan = read_plan(folder);
  const auto verdict = check_reprocessed(folder, plan, [&] { return signals.came(); });
  const bool all_read = verdict.totals.unreadable.none();
  const bool all_whole = verdict.totals.limited == 0;
  const bool all_once = verdict.repeated.empty();
  const bool holds = verdict.holds() && (all_read || o.skip_damaged) &&
                     (all_whole || o.skip_limited) && (all_once || o.accept_repeated);
  if (o.json) {
    json::object all = to_json(verdict.totals);
    all["holds"] = holds;
    all["tasks"] = plan.tasks.size();
    const auto list = [](const std::vector<std::string>& texts) {
      return json::array(texts.begin(), texts.end());
    };
    all["missing"] = list(verdict.missing);
    all["double"] = list(verdict.doubled);
    all["changed"] = list(verdict.changed);
    all["repeated"] = list(verdict.repeated);
    all["repeated_events"] = verdict.repeated_events;
    print_json("{}\n", json::serialize(all));
  } else {
    print_totals(verdict.totals, plan.tasks.size());
    const auto list = [](const char* what, const std::vector<std::string>& texts) {
      for (const std::string& text : told_of(texts)) print_plain("{}: {}\n", what, text);
      if (texts.size() > most_findings_told)
        print_plain("{}: … and {} more\n", what, texts.size() - most_findings_told);
    };
    list("missing", verdict.missing);
    list("double", verdict.doubled);
    list("changed", verdict.changed);
    list("repeated", verdict.repeated);
    print_plain("{}\n",
                !verdict.holds() ? "NOT right: see above"
                : !holds && !all_read && !o.skip_damaged
                    ? "NOT right: a part of the inputs could not be read"
                : !holds && !all_whole && !o.skip_limited ? "NOT right: events were left out"
                : !holds    ? "NOT right: events that the stores have twice are in the output twice"
                : !all_once ? "each event of an input is in exactly one output, or was "
                              "rejected; some are in several inputs"
                : all_read && all_whole
                    ? "each event is in exactly one output, or was rejected"
                    : "each event that could be decided again is in exactly one output, or "
                      "was rejected");
  }
  const int inputs = judge_inputs(o, verdict.totals);
  if (!all_once)
    print_error("{} events came in more than once, from stores or sessions to which level 2 gave "
                "them one after the other{}\n",
                verdict.repeated_events,
                o.accept_repeated ? "" : " (--accept-repeated accepts that)");
  return holds ? inputs : exit_failure;
}

int submit_tasks(const options& o, const reprocess_folder& folder, const reprocess_plan& plan) {
  const auto open = open_tasks(folder, plan);
  std::vector<std::string> more;
  if (o.how.compute.threads != 0)
    more.insert(more.end(), {"--threads", fmt::to_string(o.how.compute.threads)});
  if (open.empty()) (void)write_manifest(folder, plan);
  const auto jobs = submit(o.slurm, folder, open, more);
  if (o.json) {
    print_json("{}\n",
               json::serialize(json::object{{"tasks", open.size()},
                                            {"jobs", json::array(jobs.begin(), jobs.end())}}));
  } else {
    print_plain("{} of {} files are given to Slurm: jobs {}\n`koto-l3 reprocess --out {} --check` "
                "says what is done\n",
                open.size(), plan.tasks.size(), fmt::join(jobs, ", "), folder.store().string());
  }
  return 0;
}

int reprocess(const options& o) {
  const reprocess_folder folder{std::filesystem::path(o.out)};
  if (o.check) return check(o, folder);
  interrupt signals;
  folder.remove_leftovers();
  const reprocess_plan plan = o.task ? read_plan(folder) : make_plan(o, folder, signals);
  if (o.to_slurm) return submit_tasks(o, folder, plan);
  std::vector<std::uint64_t> tasks;
  if (o.task) {
    if (*o.task == 0 || *o.task > plan.tasks.size())
      throw command_error(
          fmt::format("there is no task {}: the plan has {}", *o.task, plan.tasks.size()),
          exit_usage);
    if (!is_done(folder, plan, plan.tasks[*o.task - 1])) tasks.push_back(*o.task);
  } else {
    tasks = open_tasks(folder, plan);
  }
  if (!tasks.empty()) task_runner(o, folder, plan, tasks, signals).run();
  (void)write_manifest(folder, plan);
  const reprocess_totals totals = totals_of(folder, plan);
  if (o.json) {
    json::object all = to_json(totals);
    all["tasks"] = plan.tasks.size();
    all["tasks_run"] = tasks.size();
    print_json("{}\n", json::serialize(all));
  } else {
    print_totals(totals, plan.tasks.size());
  }
  return judge_inputs(o, totals);
}

} // namespace

void add_reprocess(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  o->how.files.lines.clear();
  auto* c = program.add_subcommand("reprocess", "decide and pack stored runs again");
  c->footer(
      "The output is a store. Files that are done are not done again: what was killed goes on when "
      "the same command is given again, or without STORE and --menu. Ends with 0 only if every "
      "event was read and is kept or rejected.");
  c->add_option("store", o->stores, "the folders that `receive` wrote");
  c->add_option("--menu", o->how.files.lines,
                "cuts, counters and lines: a file, or built-in; a copy is kept");
  c->add_option("--out", o->out, "the folder to write")->required();
  add_selecting_options(*c, o->how);
  add_crates_option(*c, o->crates);
  c->add_option_function<std::string>(
       "--codec", [o](const std::string& name) { o->codec = read_codec(name); },
       "pack the kept events by koto or strong, as in output.codec; by default as they are")
      ->check(CLI::IsMember({"koto", "strong"}));
  c->add_option("--jobs", o->jobs, "files that are done at a time on this machine")
      ->check(CLI::Range(1U, 256U))
      ->capture_default_str();
  c->add_option("--task", o->task, "do this one file of the plan only")
      ->check(whole_number<std::uint64_t>);
  auto* slurm = c->add_flag("--slurm", o->to_slurm,
                            "give each file that is not done to Slurm, as a task of an array of "
                            "jobs, with a job behind them that checks; and end");
  c->add_option("--sbatch-option", o->slurm.options,
                "for sbatch, such as --sbatch-option=--partition=long; may be given often");
  c->add_option("--script", o->slurm.script,
                "the script for sbatch; by default the one that is installed with the tools");
  c->add_flag("--check", o->check,
              "compare the output with the stores, event by event; say what is missing, double or "
              "changed")
      ->excludes(slurm);
  add_skip_damaged_flag(*c, o->skip_damaged);
  c->add_flag("--skip-limited", o->skip_limited,
              "end with 0 although events of which not all waveforms were kept are left out, and "
              "say how many these are");
  c->add_flag("--accept-repeated", o->accept_repeated,
              "with --check: end with 0 although events that the stores have twice are in the "
              "output twice, and say how many these are");
  c->add_flag("--json", o->json, "report as JSON");
  c->callback([o, &run] { run = [o] { return reprocess(*o); }; });
}

} // namespace l3
