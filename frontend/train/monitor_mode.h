// Which values of an epoch are better.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinter {

/// Whether a value is better if it is smaller or greater, like `mode` of Keras's callbacks; automatic: as the metric of this name says.
enum class MonitorMode : std::uint8_t { automatic, min, max };

/// Of the values that every Trainer has, by name: min for losses, max for accuracies, those of one output (output_2_loss) and of validation
/// (val_accuracy) included; automatic for all other names.
MonitorMode mode_of_value(std::string_view name);

}  // namespace sinter
