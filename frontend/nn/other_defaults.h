// The defaults of Keras and PyTorch: what a model is silently made with there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/core/setting.h"

namespace sinter::nn {

/// The versions whose defaults these are. tests/fixtures/defaults.py asks them.
inline constexpr std::string_view keras_version = "3.15.1", pytorch_version = "2.15.0";

/// What a setting of a kind of layer, of an optimizer or of a loss is in other frameworks unless one says otherwise, as text_of() writes it here.
/// Behind the value, in brackets, what it is called there where that is something else. Empty: there is no such setting, or no default.
struct OtherDefault {
  std::string_view of, setting, keras, pytorch;
};
std::span<const OtherDefault> all_other_defaults();

/// "Keras: momentum 0.99, epsilon 0.001; PyTorch: …": which of the settings are something else there. Empty if none is.
std::string other_defaults(std::string_view of, const std::vector<Setting>& settings);

}  // namespace sinter::nn
