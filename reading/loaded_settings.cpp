// SPDX-License-Identifier: Apache-2.0
#include "reading/loaded_settings.hpp"

namespace l3::reading {

void loaded_settings::load() const {
  const std::lock_guard lock(mutex_);
  if (loaded_) return;
  if (has_selection()) {
    selection_ = std::make_unique<loaded_selection>(load_selection(recorded_, session_, run_));
  } else if (crates() == readout::koto()) {
    built_in_ = std::make_unique<detector>(default_detector());
  }
  if (const detector* const d = selection_ ? &selection_->what : built_in_.get()) {
    calibrated_ = recorded_.calibration.empty()
                      ? nominal_calibration(*d)
                      : calibration_of_run(recorded_.calibration, session_, *d, run_).inputs;
    for (std::uint32_t n = 0; n < d->input_count(); ++n) {
      const element& e = d->at(n);
      names_.push_back(e.what == element::kind::none ? "" : d->name_of(e));
    }
  }
  loaded_ = true;
}

const loaded_selection* loaded_settings::selection() const {
  if (!has_selection()) return nullptr; // no need to read the built-in detector
  load();
  return selection_.get();
}

const detector* loaded_settings::channels() const {
  load();
  return selection_ ? &selection_->what : built_in_.get();
}

const std::vector<channel_calibration>& loaded_settings::calibrated() const {
  load();
  return calibrated_;
}

const std::vector<std::string>& loaded_settings::names() const {
  load();
  return names_;
}

} // namespace l3::reading
