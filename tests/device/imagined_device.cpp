// SPDX-License-Identifier: Apache-2.0
#include "tests/device/imagined_device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tests/device/fat_binary.hpp"

namespace l3::ptx {

namespace {

/// Between two looks whether another stream wants a turn.
constexpr std::uint64_t slice_instructions = 20'000;

/// converged, or random:SEED, or random:SEED:BLOCKS
schedule schedule_from(const char* text) {
  schedule made;
  if (text == nullptr || std::string_view(text) == "converged") return made;
  made.is_random = true;
  unsigned long long seed = 0;
  unsigned blocks = 8;
  if (std::sscanf(text, "random:%llu:%u", &seed, &blocks) < 1)
    throw std::runtime_error("L3_DEVICE_SCHEDULE: converged or random:SEED[:BLOCKS], not " +
                             std::string(text));
  made.seed = seed;
  made.resident_blocks = blocks;
  return made;
}

/// The interpreter cannot go on: neither the test nor the program may take that for a fault of a
/// device that it knows how to live with.
[[noreturn]] void end_program(const std::string& why) {
  std::fprintf(stderr, "device: %s\n", why.c_str());
  std::_Exit(70);
}

/// L3_DEVICE_LEAVE_OUT=KERNEL:INSTRUCTION leaves out that barrier: a report has their names.
void leave_out_as_asked(loaded_kernel& k) {
  const char* const asked = std::getenv("L3_DEVICE_LEAVE_OUT");
  if (asked == nullptr) return;
  const std::string_view text(asked);
  const std::size_t colon = text.rfind(':');
  if (text.substr(0, colon) == k.code.name)
    leave_out(k, std::stoul(std::string(text.substr(colon + 1))));
}

} // namespace

// --- streams ---

stream_worker::stream_worker(imagined_device& device) {
  thread_ = std::jthread([this, &device] {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(lock_);
        changed_.wait(lock, [&] { return ends_ || !work_.empty(); });
        if (work_.empty()) return;
        work = std::move(work_.front());
        work_.pop_front();
        busy_ = true;
      }
      device.all_streams.pass();
      try {
        work();
      } catch (const device_fault& e) {
        device.fail(e.what());
      } catch (const std::exception& e) {
        end_program(e.what());
      }
      const std::scoped_lock lock(lock_);
      busy_ = false;
      changed_.notify_all();
    }
  });
}

stream_worker::~stream_worker() {
  const std::scoped_lock lock(lock_);
  ends_ = true;
  changed_.notify_all();
}

void stream_worker::enqueue(std::function<void()> work) {
  const std::scoped_lock lock(lock_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void stream_worker::wait() {
  std::unique_lock lock(lock_);
  changed_.wait(lock, [&] { return work_.empty() && !busy_; });
}

bool stream_worker::at_rest() {
  const std::scoped_lock lock(lock_);
  return work_.empty() && !busy_;
}

// --- what a test plans ---

void gate::close() {
  const std::scoped_lock lock(lock_);
  closed_ = true;
  permits_ = 0;
}

void gate::open() {
  const std::scoped_lock lock(lock_);
  closed_ = false;
  changed_.notify_all();
}

void gate::let(int pieces) {
  const std::scoped_lock lock(lock_);
  permits_ += pieces;
  changed_.notify_all();
}

void gate::pass() {
  std::unique_lock lock(lock_);
  changed_.wait(lock, [&] { return !closed_ || permits_ > 0; });
  if (closed_) --permits_;
}

planned_errors::planned_errors() {
  const char* const given = std::getenv("L3_DEVICE_ERRORS");
  std::istringstream words(given == nullptr ? "" : given);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::size_t colon = word.find(':', equals);
    if (equals == word.npos) end_program("L3_DEVICE_ERRORS: CALL=CODE[:SKIP], not " + word);
    plan(word.substr(0, equals), std::atoi(word.c_str() + equals + 1),
         colon == word.npos ? 0 : std::atoi(word.c_str() + colon + 1), true);
  }
}

void planned_errors::plan(const std::string& call, int code, int skip, bool always) {
  const std::scoped_lock lock(lock_);
  by_call_[call] = {code, skip, always};
}

void planned_errors::forget() {
  const std::scoped_lock lock(lock_);
  by_call_.clear();
}

int planned_errors::due(const std::string& call) {
  const std::scoped_lock lock(lock_);
  const auto found = by_call_.find(call);
  if (found == by_call_.end() || found->second.skip-- > 0) return 0;
  found->second.skip = 0;
  const int code = found->second.code;
  if (!found->second.always) by_call_.erase(found);
  return code;
}

// --- the device ---

imagined_device& imagined_device::the_only_one() {
  // Never destroyed: streams that a program forgets may still run when it ends.
  static auto* const device = new imagined_device;
  return *device;
}

imagined_device::imagined_device() {
  try {
    how_ = schedule_from(std::getenv("L3_DEVICE_SCHEDULE"));
    if (const char* const most = std::getenv("L3_DEVICE_MOST_INSTRUCTIONS"))
      how_.most_instructions = std::stoull(most);
  } catch (const std::exception& e) {
    end_program(e.what());
  }
  std::atexit([] { the_only_one().report(); });
}

imagined_device::turn::turn(imagined_device& device) : device_(device) {
  std::unique_lock lock(device_.lock_);
  const std::uint64_t mine = device_.tickets_++;
  device_.next_turn_.wait(lock, [&] { return device_.serving_ == mine; });
}

imagined_device::turn::~turn() {
  const std::scoped_lock lock(device_.lock_);
  ++device_.serving_;
  device_.next_turn_.notify_all();
}

module& imagined_device::add_module(const void* fat_binary) {
  modules_.push_back(std::make_unique<module>());
  modules_.back()->fat_binary = fat_binary;
  return *modules_.back();
}

/// Decodes all kernels of a program.
void imagined_device::decode(module& m) {
  auto texts = read_fat_binary(m.fat_binary);
  if (texts.empty()) return;
  const auto newest = std::ranges::max_element(texts, {}, &ptx_text::architecture);
  m.decoded = std::make_unique<program>(parse(newest->text));
  std::map<std::string, std::uint64_t, std::less<>> addresses;
  for (const auto& variable : m.decoded->globals) {
    const std::uint64_t at = addresses[variable.name] = memory.allocate(variable.bytes);
    const auto bytes = memory.find(at, variable.bytes)->bytes;
    std::ranges::fill(bytes, std::byte{0});
    std::ranges::copy(variable.initial, bytes.begin());
  }
  for (auto& k : m.decoded->kernels) {
    for (const auto& s : k.symbols) {
      const auto found = addresses.find(s.symbol);
      if (found == addresses.end())
        throw std::runtime_error("no variable " + s.symbol + " in the PTX");
      k.constants.push_back({s.row, found->second});
    }
    auto loaded = std::make_unique<loaded_kernel>();
    loaded->of = m.decoded.get();
    loaded->code = k;
    leave_out_as_asked(*loaded);
    m.kernels.emplace(k.name, std::move(loaded));
  }
}

loaded_kernel& imagined_device::load(const host_kernel& which) {
  module& m = *which.of;
  if (m.decoded == nullptr) decode(m);
  const auto found = m.kernels.find(which.name);
  if (found == m.kernels.end()) throw std::runtime_error("no kernel " + which.name + " in the PTX");
  return *found->second;
}

void imagined_device::run(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
                          std::vector<std::byte> arguments) {
  std::unique_ptr<grid_run> grid;
  {
    const turn mine(*this);
    schedule how = how_;
    how.seed += launches_++;
    grid = std::make_unique<grid_run>(what, blocks, threads, std::move(arguments), memory, how);
  }
  for (bool more = true; more;) {
    const turn mine(*this);
    if (failed_) return;
    more = grid->step(slice_instructions);
  }
}

void imagined_device::copy(void* to, const void* from, std::size_t bytes, bool to_device,
                           bool from_device) {
  const turn mine(*this);
  const auto reach = [&](const void* p, bool on_device) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    allocation* const found = memory.find(address, bytes);
    if (on_device != (found != nullptr))
      throw device_fault("a copy of " + std::to_string(bytes) + " bytes between " +
                         (on_device ? "a place that is no device memory"
                                    : "the device and memory that is not the host's"));
    return found == nullptr ? static_cast<std::byte*>(const_cast<void*>(p))
                            : found->bytes.data() + (address - found->address);
  };
  std::memmove(reach(to, to_device), reach(from, from_device), bytes);
}

void imagined_device::fill(std::uint64_t address, int value, std::size_t bytes) {
  const turn mine(*this);
  allocation* const found = memory.find(address, bytes);
  if (found == nullptr) throw device_fault("memory that is to be filled is no device memory");
  std::memset(found->bytes.data() + (address - found->address), value, bytes);
}

void imagined_device::fail(const std::string& why) {
  const turn mine(*this);
  if (!failed_.exchange(true))
    std::fprintf(stderr, "device: %s\ndevice: schedule %s, seed %llu\n", why.c_str(),
                 how_.is_random ? "random" : "converged",
                 static_cast<unsigned long long>(how_.seed));
}

void imagined_device::mend() {
  const turn mine(*this);
  failed_ = false;
}

/// Several modules may have the same kernel.
std::map<std::string, kernel_counts> imagined_device::take_counts() {
  const turn mine(*this);
  std::map<std::string, kernel_counts> taken;
  for (const auto& m : modules_) {
    for (const auto& [name, k] : m->kernels) taken[name] += std::exchange(k->counts, {});
  }
  return taken;
}

/// Writes what was executed and counted to the file that L3_DEVICE_REPORT names, a line each:
/// "counts KERNEL launches blocks … TARGET", "barrier KERNEL INSTRUCTION FILE:LINE executed" and
/// "cost KERNEL FILE:LINE CALLER executed wavefronts least instructions" of kernels that were
/// launched, "line FILE:LINE executed" of all that the program has.
void imagined_device::report() {
  const char* const path = std::getenv("L3_DEVICE_REPORT");
  if (path == nullptr) return;
  std::ofstream out(path);
  std::map<std::string, bool> lines;
  for (const auto& m : modules_) {
    try {
      if (m->decoded == nullptr) decode(*m);
    } catch (const std::exception& e) {
      end_program(e.what());
    }
    for (const auto& [name, k] : m->kernels) {
      const auto& c = k->counts;
      k->executed.resize(k->code.code.size());
      if (c.launches != 0)
        out << "counts " << name << ' ' << c.launches << ' ' << c.blocks << ' '
            << c.warp_instructions << ' ' << c.lane_instructions << ' ' << c.global_requests << ' '
            << c.global_sectors << ' ' << c.shared_requests << ' ' << c.shared_wavefronts << ' '
            << c.shared_wavefronts_least << ' ' << c.barriers << ' ' << k->of->target << '\n';
      std::map<std::string, instruction_counts> costs;
      std::map<std::string, std::uint64_t> instructions;
      for (std::size_t n = 0; n < k->code.code.size(); ++n) {
        const instruction& i = k->code.code[n];
        const instruction_counts& done = k->executed[n];
        const std::string line = place_of(*k->of, i.line);
        lines[line] = lines[line] || done.times != 0;
        const std::string at = line + ' ' + place_of(*k->of, i.caller);
        instruction_counts& cost = costs[at];
        if (!i.goes_on_with_last) {
          cost.times += done.times;
          ++instructions[at];
        }
        cost.shared_wavefronts += done.shared_wavefronts;
        cost.shared_wavefronts_least += done.shared_wavefronts_least;
        if (c.launches != 0 && is_barrier(i))
          out << "barrier " << name << ' ' << n << ' ' << place_of(*k->of, i.caller) << ' '
              << (done.times != 0) << '\n';
      }
      if (std::ranges::none_of(k->executed, [](const auto& e) { return e.times != 0; })) continue;
      for (const auto& [at, cost] : costs)
        out << "cost " << name << ' ' << at << ' ' << cost.times << ' ' << cost.shared_wavefronts
            << ' ' << cost.shared_wavefronts_least << ' ' << instructions[at] << '\n';
    }
  }
  for (const auto& [line, executed] : lines)
    out << "line " << line << ' ' << (executed ? 1 : 0) << '\n';
}

} // namespace l3::ptx
