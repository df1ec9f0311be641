// What the tests of the front end share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sinter/sinter.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "frontend/core/random.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {

/// The text of the UserError that f throws; "" if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

inline Tensor random(const Shape& shape, std::uint64_t stream, double low = -1, double high = 1) {
  RandomStream numbers(99, stream);
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) x = static_cast<float>(low + (high - low) * numbers.uniform());
  return {data, shape};
}

inline Tensor random_labels(std::int64_t count, std::uint32_t classes, std::uint64_t stream) {
  RandomStream numbers(98, stream);
  std::vector<std::int32_t> data(static_cast<std::size_t>(count));
  for (std::int32_t& x : data) x = static_cast<std::int32_t>(numbers.below(classes));
  return {data, {count}};
}

/// First in a test of compiled steps.
#define NEEDS_CODEGEN() \
  if (!codegen::is_built()) GTEST_SKIP() << "this build has no code generator"

/// The modes that this build has.
inline std::vector<Mode> modes() { return codegen::is_built() ? std::vector{Mode::eager, Mode::graph} : std::vector{Mode::eager}; }

/// Sets an environment variable for a scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (old_.empty()) unsetenv(name_);
    else setenv(name_, old_.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
};

/// A small classifier with its training step, the same from each seed.
struct SmallModel {
  nn::Sequential model;
  std::vector<Parameter> parameters;
  optim::RMSprop optimizer{{.learning_rate = 1e-2f}};
  Step<Tensor(Tensor, Tensor)> step;

  explicit SmallModel(StepOptions options = {}, std::uint64_t seed_value = 5)
      : model((seed(seed_value), nn::Sequential{nn::Dense(20, 33, Activation::sigmoid), nn::Dense(33, 7, Activation::sigmoid)})),
        parameters(model.parameters()) {
    step = compile(
        [this](const Tensor& x, const Tensor& y) {
          const Tensor loss = loss::categorical_crossentropy(model(x), y) + loss::l2(0.01f, {parameters[0]});
          optimizer.update(parameters, grad(loss, parameters));
          return loss;
        },
        std::move(options));
  }
  std::vector<float> values() const {
    std::vector<float> all;
    for (const Parameter& p : parameters)
      for (const float x : p.read().to_vector<float>()) all.push_back(x);
    return all;
  }
};

}  // namespace sinter::test
