// Times of a subject, or figures of what it computes.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/shapes/subject.h"

namespace sinter::bench {

/// A subject as a compiled call or step.
class Measured {
 public:
  Measured(Request request, int threads);

  /// {"min", "median", "n", "gflops", "bound"}, times in seconds.
  nlohmann::ordered_json times();
  /// {"figures": {name: figures_of}}: of the output or, after one step from the first weights, of the loss, the gradients and what the step changed.
  nlohmann::ordered_json figures();
  bool is_check() const { return request_.is_check(); }

 private:
  template <std::size_t... I>
  void compile_call(std::index_sequence<I...>, const StepOptions& options);
  template <std::size_t... I>
  void compile_step(std::index_sequence<I...>, const StepOptions& options);

  Request request_;
  std::shared_ptr<Subject> subject_;
  std::vector<Tensor> inputs_;  ///< of the subject, and the weights of the loss
  int threads_;
  std::function<void()> run_;                  ///< one call or step, whose results are dropped
  std::function<std::vector<Tensor>()> once_;  ///< the same with its results
};

}  // namespace sinter::bench
