// SPDX-License-Identifier: Apache-2.0
// What the files of a driver show, with a folder in the place of the machine's root.
#include "gpu/memory/why_no_device.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"

namespace l3 {
namespace {

class machine {
public:
  machine() {
    for (const char* file : {"proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia-uvm",
                             "dev/nvidia0", "dev/nvidia12", "dev/nvidia-modeset"})
      make(file);
  }
  void make(const std::string& file) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "x";
  }
  void remove(const std::string& file) const { std::filesystem::remove(root_ / file); }
  void forbid(const std::string& file) { forbidden_ = root_ / file; }

  [[nodiscard]] std::string says(device_refusal what = device_refusal::no_device) const {
    return why_no_device(
        {what, "no CUDA-capable device is detected", 12040, 13000},
        {root_.path().string(), [this](const std::string& f) { return f != forbidden_; }});
  }

private:
  temporary_folder root_;
  std::string forbidden_;
};

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(why_no_device, names_the_file_that_is_missing) {
  for (const char* file : {"dev/nvidiactl", "dev/nvidia-uvm"}) {
    const machine m;
    m.remove(file);
    EXPECT_TRUE(has(m.says(), ("/" + std::string(file) + " is missing: run").c_str())) << m.says();
    EXPECT_TRUE(has(m.says(device_refusal::other), file)) << "whatever the runtime calls it";
  }
  const machine m;
  m.remove("dev/nvidia0");
  EXPECT_TRUE(has(m.says(), "there is no CUDA device")) << "the card is the second of two";
  m.remove("dev/nvidia12");
  EXPECT_TRUE(has(m.says(), "/dev/nvidia0 is missing"));
}

TEST(why_no_device, names_the_file_that_may_not_be_opened) {
  machine m;
  m.forbid("dev/nvidia12");
  EXPECT_TRUE(has(m.says(), "may not open /dev/nvidia12: ")) << m.says();
}

TEST(why_no_device, names_a_driver_that_is_not_loaded) {
  const machine m;
  m.remove("proc/driver/nvidia/version");
  EXPECT_TRUE(has(m.says(), "modprobe nvidia"));
}

TEST(why_no_device, has_a_sentence_with_the_remedy_for_each_refusal) {
  const machine m;
  EXPECT_EQ(
      m.says(device_refusal::old_driver),
      "the driver supports CUDA 12.4 and this program needs 13.0: install NVIDIA's driver 580 "
      "or newer");
  EXPECT_TRUE(has(m.says(device_refusal::no_driver), "install NVIDIA's driver 580 or newer"));
  EXPECT_TRUE(has(m.says(device_refusal::in_use), "nvidia-smi -c DEFAULT"));
  EXPECT_TRUE(has(m.says(device_refusal::no_code), "CMAKE_CUDA_ARCHITECTURES"));
  EXPECT_TRUE(has(m.says(device_refusal::no_device), "there is no CUDA device on this machine"));
  EXPECT_TRUE(has(m.says(device_refusal::other), "does not answer"));
}

} // namespace
} // namespace l3
