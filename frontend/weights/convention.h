// Names and layouts of layers' parameters in other frameworks.
#pragma once

#include <string>
#include <vector>

#include "frontend/weights/state_dict.h"

namespace sinter::weights {

/// The tensors under the names and in the layouts that the model's parameters have. Throws UserError if the layers do not match.
StateDict to_sinter(const nn::Module& model, const StateDict& tensors, const LoadOptions& options);
/// Parameters that files of other frameworks lack: states of layers that those do not have, such as the draws of a dropout.
std::vector<std::string> own_states(const nn::Module& model);

}  // namespace sinter::weights
