// The state of a hand-written training loop, in one file.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

#include "frontend/core/parameter.h"
#include "frontend/nn/module.h"
#include "frontend/optim/optimizer.h"

namespace sinter {

/// A part of the state: all parameters of a module, all slots and counters of an optimizer, or one parameter.
class StatePart {
 public:
  StatePart(const nn::Module& module) : parameters_(module.parameters()) {}                                 // NOLINT
  StatePart(const optim::Optimizer& optimizer) : parameters_(optimizer.state()), optimizer_(&optimizer) {}  // NOLINT
  StatePart(const Parameter& parameter) : parameters_{parameter} {}                                         // NOLINT

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Null for other parts.
  const optim::Optimizer* optimizer() const { return optimizer_; }

 private:
  std::vector<Parameter> parameters_;
  const optim::Optimizer* optimizer_ = nullptr;
};

/// Writes what the parts hold to a .safetensors or .npz file, each under the number of its part and its name: `0/dense_1.weight`, `1/adam/step`. The
/// file is there whole or not at all. Throws UserError if it cannot be written and for two parameters of one name in a part.
void save_state(const std::string& path, const std::vector<StatePart>& parts);
/// Puts it back into the same parts in the same order. Slots that an optimizer has not created yet start with what was saved. Throws UserError, and
/// changes nothing, for a file of other parts, names or types.
void load_state(const std::string& path, const std::vector<StatePart>& parts);

/// `save_state("gan.safetensors", generator, critic, generator_adam, critic_adam, step);`
template <std::convertible_to<StatePart>... Parts>
  requires(sizeof...(Parts) > 0)
void save_state(const std::string& path, const Parts&... parts) {
  save_state(path, std::vector<StatePart>{parts...});
}
template <std::convertible_to<StatePart>... Parts>
  requires(sizeof...(Parts) > 0)
void load_state(const std::string& path, const Parts&... parts) {
  load_state(path, std::vector<StatePart>{parts...});
}

}  // namespace sinter
