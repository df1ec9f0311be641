// What is measured: a layer or a few operations on inputs of one shape.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/sinter.h>

#include "bench/shapes/request.h"

namespace sinter::bench {

/// The least that must be done: operations, a multiply-add as two, and bytes that are read and written.
struct Work {
  double operations = 0, bytes = 0;
};

struct Subject {
  std::vector<Tensor> inputs;
  std::function<Tensor(std::span<const Tensor>)> function = {};    ///< of the inputs
  std::vector<std::pair<std::string, Parameter>> parameters = {};  ///< that a step updates
  bool has_input_gradient = true;                                  ///< whether a step computes the gradient of each input
  /// In a step the loss is the sum of the function's values times these, or, if undefined, the mean of its squares.
  Tensor loss_weights = {};
  Work call = {}, step = {};
};

/// The kinds of requests.
std::vector<std::string> kinds();
/// Throws UserError for an unknown kind, for fields that the kind does not have, and for a shape that asks for too much.
Subject subject_of(Request& request);

}  // namespace sinter::bench
