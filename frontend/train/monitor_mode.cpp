#include "frontend/train/monitor_mode.h"

namespace sinter {

MonitorMode mode_of_value(std::string_view name) {
  if (name.starts_with("val_")) name.remove_prefix(4);
  constexpr std::string_view of_output = "output_";
  if (name.starts_with(of_output)) {
    const std::size_t end = name.find_first_not_of("0123456789", of_output.size());
    if (end != name.npos && end > of_output.size() && name[end] == '_') name.remove_prefix(end + 1);
  }
  return name == "loss" ? MonitorMode::min : name == "accuracy" ? MonitorMode::max : MonitorMode::automatic;
}

}  // namespace sinter
