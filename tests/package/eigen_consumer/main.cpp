// A program outside the tree whose data lie in Eigen's matrices: linear regression by Eigen, by linalg:: and by a trained layer, then one sample at a
// time. It succeeds if all agree.
#include <sinter/eigen.h>
#include <sinter/sinter.h>

#include <Eigen/Dense>
#include <cstdio>

using namespace sinter;

namespace {

int failures = 0;

void expect_close(const char* what, const Eigen::VectorXf& got, const Eigen::VectorXf& wanted, float tolerance) {
  const float distance = (got - wanted).cwiseAbs().maxCoeff();
  std::printf("%-28s %g away\n", what, static_cast<double>(distance));
  if (!(distance <= tolerance)) ++failures;
}

}  // namespace

int main() {
  std::srand(1);
  const Eigen::MatrixXf x = Eigen::MatrixXf::Random(200, 4);
  const Eigen::VectorXf weights{{2, -1, 0.5f, 3}};
  const Eigen::VectorXf y = x * weights + 0.1f * Eigen::VectorXf::Random(200);
  const Eigen::MatrixXd exact = x.cast<double>();
  const auto ridge = [&](double strength) -> Eigen::VectorXf {
    const Eigen::MatrixXd gram = exact.transpose() * exact + strength * Eigen::MatrixXd::Identity(4, 4);
    return gram.partialPivLu().solve(exact.transpose() * y.cast<double>()).cast<float>();
  };
  const Eigen::VectorXf least_squares = exact.householderQr().solve(y.cast<double>()).cast<float>();

  // The same by Sinter, on tensors of the same numbers.
  const Tensor samples = eigen::tensor(x), targets = eigen::tensor(y), column = reshape(targets, {-1, 1});
  const Tensor by_pinv = matmul(linalg::pinv(samples), column), by_lstsq = linalg::lstsq(samples, targets);
  const Tensor gram = matmul(samples, samples, true) + eigen::tensor(5 * Eigen::MatrixXf::Identity(4, 4));
  const Tensor by_ridge = linalg::solve(gram, matmul(samples, column, true));
  expect_close("pinv", eigen::vector(by_pinv), least_squares, 1e-5f);
  expect_close("lstsq", eigen::vector(by_lstsq), least_squares, 1e-5f);
  expect_close("ridge", eigen::vector(by_ridge), ridge(5), 1e-5f);

  // A layer that is trained on it ends at the same weights.
  nn::Sequential model{nn::Dense(4, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD({.learning_rate = 0.5f}), {.mode = HAS_JIT ? Mode::graph : Mode::eager});
  trainer.fit({samples, column}, {.epochs = 300, .batch_size = 200, .verbose = false});
  const Tensor trained = model.parameters()[0], offset = model.parameters()[1];
  expect_close("the layer", eigen::vector(trained), least_squares, 0.02f);

  // One sample: a vector in, a part of a vector out.
  const Eigen::VectorXf sample = Eigen::VectorXf::Ones(4);
  Eigen::VectorXf results = Eigen::VectorXf::Zero(3);
  eigen::predict_one(trainer, sample, results.segment(1, 1));
  const float wanted = eigen::vector(trained).sum() + static_cast<float>(offset.item());
  expect_close("predict_one", results, Eigen::VectorXf{{0, wanted, 0}}, 1e-5f);
  return failures;
}
