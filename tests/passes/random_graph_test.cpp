// Random small graphs through the whole pipeline: rules kept, groups sound, numbers equal.
#include "ir/differentiate.h"
#include "tests/passes/helpers.h"

namespace sinter::test::random_graph_test {
namespace {

using namespace ir;

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    const Dim n = Dim::batch();
    for (const Shape& shape : {Shape{n, 4}, Shape{n, 1}, Shape{n}}) add(graph_.add_input({str("x", values_.size()), {DType::f32, shape}}));
    for (const Shape& shape : {Shape{4, 4}, Shape{4}, Shape{}, Shape{4, 4}}) {
      states_.push_back(graph_.add_state({str("s", values_.size()), {DType::f32, shape}}));
      add(states_.back());
    }
    for (std::size_t i = 0, count = 8 + random_.below(28); i < count; ++i) grow();
    finish();
  }
  Graph take() { return std::move(graph_); }

 private:
  void add(Value v) {
    if (is_float(v.type().dtype)) values_.push_back(v);
  }
  Value any() { return values_[values_.size() - 1 - std::min(random_.below(values_.size()), random_.below(values_.size()))]; }

  /// One more node; operands that do not fit are drawn again.
  void grow() {
    for (;;) try {
        return add(make());
      } catch (const UserError&) {
      }
  }

  Value make() {
    const Value a = any(), b = any();
    const std::size_t rank = a.shape().rank();
    switch (random_.below(17)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return a / (square(b) + 1.0);
      case 4:
        return -a;
      case 5:
        return graph_.add(Sigmoid{}, {a});
      case 6:
        return graph_.add(Tanh{}, {a});
      case 7:
        return select(less(a, b), a, b * 0.5);
      case 8:
        return graph_.add(Clip{{}, -0.5f, 0.5f}, {a});
      case 9:
        return matmul(a, b, random_.below(2), random_.below(2));
      case 10:
        return matmul(a, graph_.value(graph_.state_node(0))) + graph_.value(graph_.state_node(1));
      case 11: {
        const std::size_t first = random_.below(rank + 1), last = first + random_.below(rank + 1 - std::min(first, rank)) + 1;
        return graph_.add(Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)}, {a});
      }
      case 12:
        return graph_.add(Max{0, static_cast<std::int64_t>(rank)}, {a});
      case 13:
        return reshape(a, a.shape().insert(random_.below(rank + 1), 1));
      case 14:
        return graph_.add(Softmax{}, {a});
      case 15:
        return transpose(a);
      default:
        return broadcast(a, b.shape());
    }
  }

  void finish() {
    // Half of the graphs are trained: a loss, its gradients and updates.
    if (random_.below(2)) {
      const Value last = values_.back(), loss = sum(graph_.add(Tanh{}, {last}), 0, last.shape().rank());
      const ir::Values gradients = differentiate(loss, states_);
      graph_.add_output(loss);
      for (std::size_t i = 0; i < states_.size(); ++i)
        if (gradients[i]) graph_.set_update(i, (states_[i] - gradients[i] * 0.1).id);
    }
    for (int i = 0; i < 3; ++i) graph_.add_output(any());
    for (std::size_t i = 0; i < states_.size(); ++i)
      for (const Value v : values_)
        if (graph_.updates()[i] == no_node && v.type() == states_[i].type() && random_.below(3) == 0) graph_.set_update(i, v.id);
  }

  Graph graph_{"random"};
  Random random_;
  std::vector<Value> values_, states_;
};

TEST(RandomGraphs, KeepRulesAndNumbers) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(str("seed ", seed));
    Graph graph = RandomGraph(seed).take();
    const Values values = random_values(graph, 3, seed);
    const auto before = results(graph, values, 3);
    auto options = reference_options();
    const std::vector<std::string> names = passes::optional_pass_names();
    if (seed % 2) options.without = {names[seed / 2 % names.size()]};
    passes::optimize(graph, options);
    passes::verify_groups(graph);
    expect_equal(results(graph, values, 3), before, 1e-10);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << text(graph);
      return;
    }
  }
}

}  // namespace
}  // namespace sinter::test::random_graph_test
