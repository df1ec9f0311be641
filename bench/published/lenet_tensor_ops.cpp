#include "bench/published/lenet_levels.h"

namespace sinter::published {

// begin lines: tensor ops
namespace {

struct TensorLeNet {
  LeNet net;
  Parameter w1{"w1", init::glorot_uniform()({5, 5, 1, net.first})}, b1{"b1", init::zeros()({net.first})};
  Parameter w2{"w2", init::glorot_uniform()({5, 5, net.first, net.second})}, b2{"b2", init::zeros()({net.second})};
  Parameter w3{"w3", init::glorot_uniform()({net.flat, net.hidden})}, b3{"b3", init::zeros()({net.hidden})};
  Parameter w4{"w4", init::glorot_uniform()({net.hidden, 10})}, b4{"b4", init::zeros()({10})};
  Parameter draws{"draws", Tensor::zeros({DType::u32, {}}), false};
  std::vector<Parameter> weights{w1, b1, w2, b2, w3, b3, w4, b4};
  std::shared_ptr<optim::Optimizer> optimizer = net.make_optimizer();

  Tensor drop(const Tensor& x, double rate, std::uint64_t stream) const {
    return where(random_uniform(x.shape(), draws, stream) >= rate, x / (1 - rate), 0);
  }
  Tensor predict(const Tensor& x, bool training) const {
    Tensor h = reshape(x, {x.dim(0), 28, 28, 1});
    h = max_pool2d(relu(conv2d(h, w1, {.padding = net.padding}) + b1), {2, 2});
    h = max_pool2d(relu(conv2d(h, w2, {.padding = net.padding}) + b2), {2, 2});
    h = reshape(h, {x.dim(0), net.flat});
    if (training && net.pool_dropout > 0) h = drop(h, net.pool_dropout, 1);
    h = relu(matmul(h, w3) + b3);
    if (training) h = drop(h, net.dropout, 2);
    return softmax(matmul(h, w4) + b4);
  }
  Tensor train(const Tensor& x, const Tensor& y) {
    draws.assign(draws + 1);
    const Tensor p = clip(predict(x, true), 1e-7f, 1 - 1e-7f);
    const Tensor loss = -mean(sum(one_hot(y, 10) * log(p), {-1}));
    optimizer->update(weights, grad(loss, weights));
    return loss;
  }
};

}  // namespace

Level tensor_ops_level(const LeNet& net, int threads) {
  const auto lenet = std::make_shared<TensorLeNet>(net);
  auto train = compile([=](const Tensor& x, const Tensor& y) { return lenet->train(x, y); }, {.name = "train", .threads = threads});
  auto predict = compile([=](const Tensor& x) { return lenet->predict(x, false); }, {.name = "predict", .threads = threads});
  return {"tensor ops",
          false,
          lenet->weights,
          [=](const Tensor& x, const Tensor& y) mutable { train(x, y); },
          [=](const Tensor& x) mutable { return predict(x); },
          [=](std::span<const float> in, std::span<float> out) mutable { predict.predict_one(in, out); },
          [=](const Tensor& x) { return lenet->predict(x, false); }};
}
// end lines

}  // namespace sinter::published
