#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "frontend/nn/module.h"

namespace sinter::nn {

/// Base of the modules that hold a list of layers. Copies share the list.
class Container : public Module {
 public:
  std::size_t size() const { return layers_->size(); }
  /// Throws UserError for an index out of range.
  Module& operator[](std::size_t i) const;

 protected:
  using Module::Module;
  /// Throws UserError for a null layer.
  void append(std::shared_ptr<Module> layer);
  template <class Layer>
    requires(std::derived_from<std::decay_t<Layer>, Module>)
  void append(Layer&& layer) {
    append(share(std::forward<Layer>(layer)));
  }
  const std::vector<std::shared_ptr<Module>>& list() const { return *layers_; }

 private:
  std::shared_ptr<std::vector<std::shared_ptr<Module>>> layers_ = std::make_shared<std::vector<std::shared_ptr<Module>>>();
};

/// What can be put into a container: a module, which is copied and shares its parameters with the copy, or a pointer to one.
template <class L>
concept IsLayer = std::derived_from<std::decay_t<L>, Module> || std::convertible_to<L, std::shared_ptr<Module>>;

}  // namespace sinter::nn
