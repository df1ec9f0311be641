// The NumPy program itself, in Sinter's words.
#include <cmath>
#include <numeric>

#include <sinter/graph.h>

#include "bench/published/perceptron.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

constexpr double first_rate = 0.001, decrease = 1e-6, momentum = 0.00005;
constexpr float l2 = 0.01f / 2;  // λ2 / 2: the gradient gets λ2 w

/// d = rate · g, w <- w - (d + momentum · the d before): the rule of Raschka's book, whose previous step has no memory of those before it.
class PlainMomentum : public optim::Optimizer {
 public:
  PlainMomentum() : Optimizer("plain_momentum", first_rate, {}) {}

 private:
  void update_one(const Parameter& w, const Tensor& g) override {
    const Parameter previous = slot(w, "previous");
    const Tensor step = rate() * g;
    set(w, w - (step + previous * momentum));
    set(previous, step);
  }
};

nn::Dense layer(std::int64_t inputs, std::int64_t units) {
  const float limit = 2 / std::sqrt(static_cast<float>(inputs));
  return {inputs, units, Activation::sigmoid, {.weight = init::uniform(-limit, limit), .bias = init::uniform(-limit, limit)}};
}

std::array<nn::Dense, 3> layers() {
  seed(0);
  nn::Dense first = layer(784, 70), second = layer(70, 30), third = layer(30, 10);
  return {std::move(first), std::move(second), std::move(third)};
}

/// Ten binary losses, summed over outputs and samples.
Tensor cost(const Tensor& output, const Tensor& classes) { return sum(loss::binary_crossentropy.values(output, one_hot(classes, 10))); }

}  // namespace

struct Program::State {
  const Standardized& data;
  ProgramOptions options;
  std::array<nn::Dense, 3> model = layers();
  std::vector<Parameter> weights{model[0].weight, model[1].weight, model[2].weight};
  std::vector<Parameter> parameters{model[0].weight, model[0].bias, model[1].weight, model[1].bias, model[2].weight, model[2].bias};
  PlainMomentum optimizer;
  double rate = first_rate;
  std::int64_t epochs = 0;
  RandomStream random{0, 35};
  std::vector<std::int32_t> order;
  Step<std::tuple<Tensor, Tensor, Tensor, Tensor>(Tensor, Tensor, Tensor)> train;
  Step<std::pair<Tensor, Tensor>(Tensor, Tensor)> judge;
  Step<Tensor(Tensor)> predict;

  State(const Standardized& standardized, ProgramOptions given)
      : data(standardized), options(given), order(static_cast<std::size_t>(data.train_y.elements())) {
    std::iota(order.begin(), order.end(), 0);
  }
  Tensor forward(const Tensor& x) { return model[2](model[1](model[0](x))); }
};

Program::Program(const Standardized& data, ProgramOptions options) : state_(std::make_unique<State>(data, options)) {
  State* s = state_.get();
  s->train = compile(
      [s](const Tensor& x, const Tensor& y, const Tensor& rows) {
        const Tensor images = gather_rows(x, rows), classes = gather_rows(y, rows), output = s->forward(images);
        const Tensor penalty = loss::l2(l2, s->weights), total = cost(output, classes) + penalty, error = mean(abs(output - one_hot(classes, 10)));
        const Tensor unneeded = s->options.input_gradient ? sum(grad(total, {images})[0]) : error;
        s->optimizer.update(s->parameters, grad(total, s->parameters));
        return std::tuple(total, penalty, error, unneeded);
      },
      {.name = "program", .mode = options.mode, .threads = options.threads, .kinds = {InputKind::table, InputKind::table, InputKind::batch}});
  s->judge = compile(
      [s](const Tensor& x, const Tensor& y) {
        const Tensor output = s->forward(x);
        return std::pair(cost(output, y), sum(cast(equal(argmax(output), y), DType::f32)));
      },
      {.name = "program_judge", .mode = options.mode, .threads = options.threads});
  s->predict = compile([s](const Tensor& x) { return s->forward(x); }, {.name = "program_predict", .mode = options.mode, .threads = options.threads});
}
Program::~Program() = default;

ProgramEpoch Program::epoch() {
  State& s = *state_;
  ProgramEpoch result;
  Tensor rows;
  result.shuffling = seconds_of([&] {
    for (std::size_t i = s.order.size(); i > 1; --i) std::swap(s.order[i - 1], s.order[s.random.below(static_cast<std::uint32_t>(i))]);
    rows = Tensor(s.order, {static_cast<std::int64_t>(s.order.size())});
  });
  s.rate /= 1 + decrease * static_cast<double>(s.epochs++);
  s.optimizer.set_learning_rate(s.rate);
  const std::int64_t steps = rows.elements() / s.options.batch;
  std::tuple<Tensor, Tensor, Tensor, Tensor> printed;
  result.batches = seconds_of([&] { printed = s.train.run(s.data.train_x, s.data.train_y, rows, {.steps = steps, .batch = s.options.batch}); });
  const auto& [costs, penalties, errors, unneeded] = printed;
  const std::vector<float> error = errors.to_vector<float>();
  result.rate = s.rate;
  result.average = 1 - std::accumulate(error.begin(), error.end(), 0.0) / static_cast<double>(steps);
  result.cost = static_cast<double>(costs.to_vector<float>().back());
  result.penalty = static_cast<double>(penalties.to_vector<float>().back());
  return result;
}

ProgramPrediction Program::predict(const Tensor& x, const Tensor& y) {
  ProgramPrediction result;
  result.seconds = seconds_of([&] {
    const auto [data_cost, hits] = state_->judge(x, y);
    result.cost = data_cost.item() + penalty();
    result.accuracy = hits.item() / static_cast<double>(y.elements());
  });
  return result;
}

double Program::forward_seconds(const Tensor& x) {
  return least_seconds(5, [&] { state_->predict(x); });
}

std::vector<double> Program::mean_weights() const {
  std::vector<double> result;
  for (const nn::Dense& layer : state_->model) {
    const double total = sum(abs(layer.weight)).item() + sum(abs(layer.bias)).item();
    result.push_back(total / static_cast<double>(layer.weight.read().elements() + layer.bias.read().elements()));
  }
  return result;
}

double Program::penalty() const { return loss::l2(l2, state_->weights).detach().item(); }

std::int64_t Program::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& p : state_->parameters) count += p.read().elements();
  return count;
}

std::string Program::graph() const { return ir::to_text(state_->train.graph()); }

}  // namespace sinter::published
