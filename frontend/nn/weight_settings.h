// Settings that several layers have.
#pragma once

#include <string>
#include <vector>

#include "frontend/core/setting.h"
#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// `l1` and `l2` of a penalty, where there is one.
inline void add_penalty_settings(std::vector<Setting>& list, const Penalty& penalty, const std::string& of = "") {
  if (penalty.l1 > 0) list.emplace_back(of + "l1", penalty.l1);
  if (penalty.l2 > 0) list.emplace_back(of + "l2", penalty.l2);
}

/// How the weights of a layer with such options begin: its initializers, `bias none` without one, and its penalty.
template <class Options>
void add_weight_settings(std::vector<Setting>& list, const Options& options) {
  list.emplace_back("weight", init::name_of(options.weight));
  list.emplace_back("bias", options.use_bias ? init::name_of(options.bias) : "none");
  add_penalty_settings(list, options.penalty);
}

}  // namespace sinter::nn
