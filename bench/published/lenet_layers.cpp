#include "bench/published/lenet_levels.h"

namespace sinter::published {

// begin lines: layers, Trainer
namespace {

nn::Sequential lenet_model(const LeNet& net) {
  using enum nn::Activation;
  return nn::Sequential{nn::Reshape({28, 28, 1}),
                        nn::Conv2D(1, net.first, {5}, relu, {.padding = net.padding}),
                        nn::MaxPool2D({2}),
                        nn::Conv2D(net.first, net.second, {5}, relu, {.padding = net.padding}),
                        nn::MaxPool2D({2}),
                        nn::Flatten(),
                        nn::Dropout(net.pool_dropout),
                        nn::Dense(net.flat, net.hidden, relu),
                        nn::Dropout(net.dropout),
                        nn::Dense(net.hidden, 10, softmax)};
}

}  // namespace
// end lines

// begin lines: layers
Level layers_level(const LeNet& net, int threads) {
  nn::Sequential model = lenet_model(net);
  const std::vector<Parameter> weights = model.trainable_parameters();
  const std::shared_ptr<optim::Optimizer> optimizer = net.make_optimizer();
  auto train = compile(
      [=](const Tensor& x, const Tensor& y) mutable {
        const nn::TrainingScope scope;
        const Tensor loss = loss::categorical_crossentropy(model(x), y);
        optimizer->update(weights, grad(loss, weights));
        return loss;
      },
      {.name = "train", .threads = threads});
  auto predict = compile([=](const Tensor& x) mutable { return model(x); }, {.name = "predict", .threads = threads});
  return {"layers",
          false,
          weights,
          [=](const Tensor& x, const Tensor& y) mutable { train(x, y); },
          [=](const Tensor& x) mutable { return predict(x); },
          [=](std::span<const float> in, std::span<float> out) mutable { predict.predict_one(in, out); },
          [=](const Tensor& x) mutable { return model(x); }};
}
// end lines

// begin lines: Trainer
Trainer lenet_trainer(const LeNet& net, int threads) {
  return {lenet_model(net), loss::categorical_crossentropy, net.make_optimizer(), {.threads = threads}};
}

Level trainer_level(Trainer& trainer) {
  return {"Trainer",
          true,
          {},
          [&](const Tensor& x, const Tensor& y) { trainer.train_on_batch(x, y); },
          [&](const Tensor& x) { return trainer.predict(x); },
          [&](std::span<const float> in, std::span<float> out) { trainer.predict_one(in, out); },
          {}};
}
// end lines

}  // namespace sinter::published
