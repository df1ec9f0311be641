// Common mistakes of beginners, and the error message of each.
#include <sinter/sinter.h>

#include <functional>
#include <iostream>

using namespace sinter;

/// A layer that forgets to register what it holds.
struct Forgetful : nn::Module {
  nn::Dense inner{4, 2};
  Forgetful() : Module("forgetful") {}
  Tensor forward(const Tensor& x) override { return inner(x); }
};

int main(int, char** argv) {
  int silent = 0;
  const auto mistake = [&](const char* what, const std::function<void()>& make) {
    std::cout << what << "\n  ";
    try {
      make();
      std::cout << "NO ERROR\n";
      ++silent;
    } catch (const Error& error) {
      std::cout << error.what() << "\n";
    }
  };

  const Tensor x = Tensor::filled({DType::f32, {8, 4}}, 1), classes = Tensor::zeros({DType::i32, {8}});
  const Parameter w("w", Tensor::zeros({DType::f32, {4, 2}}));
  nn::Sequential model{nn::Dense(4, 3)};
  const auto trainer = [](auto model) { return Trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam()); };
  const auto fit = [&](const Dataset& data, const FitOptions& options) { trainer(model).fit(data, options); };

  mistake("data that does not fill its shape", [] { Tensor({1, 2, 3}, {2, 2}); });
  mistake("shapes that do not broadcast", [&] { x + Tensor({1, 2, 3}, {3}); });
  mistake("matrices that cannot be multiplied", [&] { matmul(x, Tensor::zeros({DType::f32, {3, 2}})); });
  mistake("a layer of other inputs", [&] { nn::Sequential{nn::Dense(4, 8), nn::Dense(6, 2)}(x); });
  mistake("an axis that is not there", [&] { sum(x, {2}); });
  mistake("integers and floats mixed", [&] { x + Tensor::zeros({DType::i32, {8, 4}}); });
  mistake("the gradient of what is no scalar", [&] { grad(matmul(x, w), std::vector{w}); });
  mistake("the gradient by a parameter that was not used", [&] { grad(sum(x), std::vector{w}); });
  mistake("the value of a tensor in a compiled function",
          [&] { compile([&](const Tensor& x) { return x * static_cast<float>(sum(x).item()); })(x); });
  mistake("a branch on a tensor in a compiled function", [&] { compile([&](const Tensor& x) { return sum(x) > 0 ? x : -x; })(x); });
  mistake("batches of different sizes in one call", [&] { compile([](const Tensor& a, const Tensor& b) { return a + b; })(x, slice(x, 0, 0, 4)); });
  mistake("a batch times itself", [&] { compile([](const Tensor& x) { return matmul(x, x, false, true); })(x); });
  mistake("a layer that was not registered", [&] { trainer(Forgetful()).fit({x, classes}, {}); });
  mistake("a label out of range", [&] { fit({x, Tensor::filled({DType::i32, {8}}, 3)}, {}); });
  mistake("as many labels as there are samples and one more", [&] { fit({x, Tensor::zeros({DType::i32, {9}})}, {}); });
  mistake("NaN in the data", [&] { fit({log(x - 2), classes}, {}); });
  mistake("no epochs", [&] { fit({x, classes}, {.epochs = 0}); });
  mistake("an empty batch", [&] { fit({x, classes}, {.batch_size = 0}); });
  mistake("a metric with a slip of the pen", [&] {
    fit({x, classes}, {.callbacks = {std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.monitor = "val_los"})}});
  });
  mistake("a parameter with a slip of the pen", [&] { model.parameter("dense_1.weigth"); });
  mistake("saving what was never trained", [&] { trainer(model).save("model.sinter"); });
  mistake("a file that is not there", [] { Trainer::load("nowhere.sinter"); });
  mistake("a file of another kind", [&] { Trainer::load(argv[0]); });
  mistake("weights of another model", [&] { weights::load_state_dict(model, weights::state_dict(nn::Sequential{nn::Dense(4, 5)})); });
  mistake("a negative learning rate", [] { optim::Adam({.learning_rate = -1}); });
  mistake("a dropout of everything", [] { nn::Dropout(1); });
  return silent;
}
