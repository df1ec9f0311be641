// Steps run without the front end, with faults if wanted.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"
#include "runtime/executor.h"
#include "tests/codegen/graphs.h"

namespace sinter::test {

/// A graph's step with memory of its own, run through the executor.
class RawStep {
 public:
  RawStep(const ir::Graph& graph, const codegen::Options& options, std::int64_t n) : RawStep(codegen::compile(graph, options).image, graph, n) {}
  /// What was compiled of a graph before.
  RawStep(StepImage compiled, const ir::Graph& graph, std::int64_t n) : image(std::move(compiled)), n_(n) {
    std::uint64_t stream = 0;
    const auto tensor = [&](const Type& type) { return test::random(type.shape.at(n), ++stream, 0.1, 0.9); };
    for (const auto& input : graph.inputs()) {
      tensors_.push_back(input.unpadded ? tensor(input.type) : tensor(input.type).padded());
      EXPECT_EQ(tensors_.back().is_unpadded(), input.unpadded);
      inputs_.push_back(data(tensors_.back()));
    }
    for (const auto& state : graph.states()) tensors_.push_back(tensor(state.type).padded()), states_.push_back(data(tensors_.back()));
    for (const ir::NodeId id : graph.outputs()) {
      const Type& type = graph.node(id).type;
      tensors_.push_back(Tensor::zeros({type.dtype, type.shape.at(n)}));  // without padding where steps write none
      outputs_.push_back(data(tensors_.back()));
    }
    rows_.resize(inputs_.size());
  }

  /// Output i goes there.
  void bind_output(std::size_t i, const Tensor& to) { outputs_[i] = data(to); }

  /// Runs `image` once. Returns what the executor threw, or "".
  std::string run(int threads = 1, const runtime::SpanObserver& observer = {}) {
    runtime::Executor executor(image);
    executor.observe(observer);
    try {
      EXPECT_EQ(executor.run({inputs_, states_, outputs_, rows_, n_}, threads, true), 0u);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  }
  /// The memory of an input, state or output.
  std::byte* bound(const BufferSpec& buffer) const {
    return (buffer.place == Place::input ? inputs_ : buffer.place == Place::state ? states_ : outputs_)[buffer.index];
  }
  /// States and outputs.
  std::vector<float> values() const {
    std::vector<float> all;
    for (std::size_t i = inputs_.size(); i < tensors_.size(); ++i)
      for (const float x : tensors_[i].to_vector<float>()) all.push_back(x);
    return all;
  }

  StepImage image;

 private:
  static std::byte* data(const Tensor& tensor) { return tensor.buffer().data(); }

  std::int64_t n_;
  std::vector<Tensor> tensors_;
  std::vector<std::byte*> inputs_, states_, outputs_;
  std::vector<std::int64_t> rows_;
};

/// Two dense layers, RMSprop, a training step: products, a loss in slots, updates in place.
inline const ir::Graph& mlp() {
  static const ir::Graph graph = training_graph({40, 33, 24});
  return graph;
}

}  // namespace sinter::test
