// SPDX-License-Identifier: Apache-2.0
#include "selection/engine/engine.hpp"

#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {
namespace {

const batch_capacity small{2, 6, 60, 12, 65536};

TEST(engine, is_called_what_it_is) {
  EXPECT_EQ(make_engine({backend::serial, 0}, {small, 1})->name(), "serial");
  EXPECT_EQ(make_engine({backend::pool, 1}, {small, 1})->name(), "pool (1 thread)");
  EXPECT_EQ(make_engine({backend::pool, 3}, {small, 1})->name(), "pool (3 threads)");
}

TEST(engine, takes_a_device_if_there_is_one_and_else_the_pool_and_says_why) {
  std::string why;
  const auto e =
      make_engine({}, {small, 1}, nullptr, [&](engine_news, std::string_view text) { why = text; });
  EXPECT_TRUE(e->name().starts_with(why_no_cuda().empty() ? "cuda (" : "pool (")) << e->name();
  EXPECT_EQ(why, why_no_cuda().empty() ? "" : "kernels run on the CPU: " + why_no_cuda());
}

TEST(engine, computes_on_input_that_is_not_its_own) {
  const auto events = make_events(2, 3, 4, 5);
  const auto of_another = make_engine({backend::serial, 0}, {capacity_for(events, 0), 1});
  engine_limits limits{capacity_for(events, 0), 1};
  limits.own_input = false;
  const auto e = make_engine({backend::serial, 0}, limits);
  frame& f = *e->frames()[0];
  EXPECT_TRUE(f.input.bytes.empty());
  randomness r(1);
  fill(*of_another->frames()[0], events, 0, r);
  f.input = of_another->frames()[0]->input;
  e->start(f);
  ASSERT_TRUE(e->wait(f));
  expect_output(f, events);
}

TEST(engine, says_clearly_that_there_is_no_device) {
  const auto expect_none = [](backend which, const std::string& name, const std::string& why_not) {
    if (why_not.empty()) return; // there is one
    EXPECT_EQ(why_no_device({which, 0}), why_not);
    try {
      const auto e = make_engine({which, 0}, {small, 1});
      FAIL() << "made " << e->name();
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(std::string(e.what()), "backend " + name + " was asked for, but " + why_not);
    }
  };
  expect_none(backend::cuda, "cuda", why_no_cuda());
  expect_none(backend::hip, "hip", why_no_hip());
  expect_none(backend::sycl, "sycl", why_no_sycl());
}

TEST(engine, on_a_device_without_memory_is_the_pool_or_none) {
  compute_settings s{backend::serial, 1};
  s.fault = {fault_kind::no_memory, 0, 0, 0, {}};
  EXPECT_THROW(static_cast<void>(make_engine(s, {small, 1})), std::runtime_error);
  s.where = backend::automatic;
  EXPECT_TRUE(make_engine(s, {small, 1})->name().starts_with("pool ("));
}

TEST(engine, gives_each_frame_what_was_asked_for) {
  const auto e = make_engine({backend::pool, 1}, {small, 3});
  ASSERT_EQ(e->frames().size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const frame& f = *e->frames()[i];
    EXPECT_EQ(f.index, i);
    EXPECT_EQ(f.input.bytes.size(), small.bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(f.input.bytes.data()) % 4096, 0U);
    EXPECT_EQ(f.input.events.size(), small.events);
    EXPECT_EQ(f.input.fragments.size(), small.fragments);
    EXPECT_EQ(f.input.pieces.size(), small.pieces);
    EXPECT_EQ(f.input.boards.size(), small.boards);
    EXPECT_GE(f.output_memory.size(), small.bytes);
  }
}

TEST(engine, plans_its_memory) {
  const auto e = make_engine({backend::serial, 0}, {small, 2});
  std::size_t sum = 0;
  for (const memory_use& use : e->memory_plan()) {
    EXPECT_FALSE(use.what.empty());
    EXPECT_GT(use.bytes, 0U);
    sum += use.bytes;
  }
  EXPECT_GE(sum, 4 * small.bytes) << "input and output";
  EXPECT_LT(sum, 4 * small.bytes + 65536);
}

TEST(engine, works_on_frames_of_several_threads) {
  const auto events = make_events(6, 3, 4, 23);
  const auto e = make_engine({backend::pool, 2}, {capacity_for(events, 1400), 4});
  std::vector<std::jthread> threads;
  for (frame* const f : e->frames()) {
    threads.emplace_back([&, f] {
      randomness r(f->index);
      for (int again = 0; again < 5; ++again) compute(*e, *f, events, 1400, r);
    });
  }
}

TEST(engine, does_not_start_on_fragments_of_no_event_or_of_two) {
  const auto events = make_events(3, 3, 3, 31);
  const auto e = make_engine({backend::serial, 0}, {capacity_for(events, 1400), 1});
  frame& f = *e->frames()[0];
  const auto spoiled = [&](const auto& spoil) {
    randomness r(9);
    fill(f, events, 1400, r);
    ASSERT_GT(f.input.events[1].fragments, 0U);
    spoil(f.input);
    EXPECT_DEATH(e->start(f), "");
  };
  spoiled([](input_batch& b) { --b.used_events; });
  spoiled([](input_batch& b) { --b.events[1].fragments; });
  spoiled([](input_batch& b) { --b.events[1].first_fragment; });
  spoiled([](input_batch& b) { --b.used_fragments; });
  spoiled([](input_batch& b) { std::swap(b.events[1], b.events[2]); });
}

TEST(engine, asks_the_driver_for_a_connection_for_each_stream) {
  constexpr auto name = "CUDA_DEVICE_MAX_CONNECTIONS";
  const auto set = [](const char* variable) {
    const char* const text = std::getenv(variable); // NOLINT: no other thread
    return std::string(text == nullptr ? "" : text);
  };
  const auto asked = [&](std::uint32_t streams) {
    prepare_driver(streams);
    return set(name);
  };
  unsetenv(name); // NOLINT: no other thread
  EXPECT_EQ(asked(8), "") << "as many as it gives unasked";
  EXPECT_EQ(asked(12), "12");
  EXPECT_EQ(asked(16), "12") << "what is set stays";
  unsetenv(name); // NOLINT: no other thread
  EXPECT_EQ(asked(64), "32") << "it has no more";
  unsetenv(name); // NOLINT: no other thread
  EXPECT_EQ(set("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(set("CUDA_MODULE_LOADING"), "EAGER");
}

TEST(engine, is_made_once_for_each_device_with_numbers_in_turn) {
  compute_settings s{backend::serial, 0};
  s.devices = {0, 3};
  EXPECT_EQ(make_engines(s, {small, 3}).size(), 1U) << "a CPU is one";
  s.fault = {fault_kind::error, 1, 0, 0, {}};
  const auto two = make_engines(s, {small, 3});
  ASSERT_EQ(two.size(), 2U);
  for (std::uint32_t n = 0; n < 6; ++n) EXPECT_EQ(two[n % 2]->frames()[n / 2]->index, n);
}

TEST(engine, leaves_out_a_device_that_cannot_be_made_and_uses_the_others) {
  compute_settings s;
  s.devices = {2, 5};
  s.fault.kind = fault_kind::no_memory; // of the first
  std::vector<std::pair<engine_news, std::string>> warnings;
  const auto warn = [&](engine_news n, std::string_view text) { warnings.emplace_back(n, text); };
  const auto made = make_engines(s, {small, 2}, nullptr, warn);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0]->frames()[1]->index, 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], std::pair(engine_news::device_left_out,
                                   std::string("device 2 is left out: the device is out of memory "
                                               "(imagined)")));
  s.devices = {2};
  warnings.clear();
  EXPECT_EQ(make_engines(s, {small, 2}, nullptr, warn).size(), 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], std::pair(engine_news::cpu_instead,
                                   std::string("kernels run on the CPU: the device is out of "
                                               "memory (imagined)")));
}

} // namespace
} // namespace l3::test
