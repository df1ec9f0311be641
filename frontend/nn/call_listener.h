// Who wants to know of the calls of modules: summaries, and models of what happens within a model.
#pragma once

#include <memory>
#include <span>

#include "frontend/nn/module.h"

namespace sinter::nn {

/// While one lives, it is told of each call of a module on this thread when the module has returned: the outermost listener first.
class CallListener {
 public:
  /// `alone`: those that live already are told of nothing until this one ends.
  explicit CallListener(bool alone = false);
  virtual ~CallListener();
  CallListener(const CallListener&) = delete;
  CallListener& operator=(const CallListener&) = delete;

  /// Tells all listeners of this thread that a module returned these results, of which there is at least one.
  static void note(const Module& module, std::span<const Tensor> results);

 protected:
  virtual void called(const Module& module, std::span<const Tensor> results) = 0;
  static const std::shared_ptr<ModuleState>& state_of(const Module& module) { return module.state_; }

 private:
  CallListener* outer_;
  bool alone_;
};

}  // namespace sinter::nn
