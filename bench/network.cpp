#include "bench/network.h"

#include <type_traits>
#include <utility>

#include "bench/show.h"
#include "frontend/core/random.h"
#include "ir/cost.h"

namespace sinter::bench {

namespace {

/// A step of one output on batches in turn.
struct Calls {
  std::shared_ptr<StepCore> step;
  std::vector<Batch> batches;
  std::size_t next = 0;
  Tensor out;
  std::vector<const Tensor*> in;

  void call() {
    const Batch& batch = batches[next++ % batches.size()];
    for (std::size_t i = 0; i < batch.size(); ++i) in[i] = &batch[i];
    step->call(in, {&out, 1});
  }
};

/// A call of the function on the next of the batches. Its products are counted where it is compiled.
Job job_of(StepCore::Function function, const char* name, std::vector<Batch> batches, const RunSettings& settings) {
  const StepOptions options{.name = name, .mode = settings.mode, .threads = settings.threads};
  auto calls = std::make_shared<Calls>();
  calls->step = std::make_shared<StepCore>(std::move(function), options, std::source_location::current());
  calls->batches = std::move(batches);
  for (const Tensor& x : calls->batches.front()) calls->in.push_back(&x);
  show(settings, *calls->step, calls->in);
  Job job;
  job.call = [calls] { calls->call(); };
  const Sizes sizes = calls->batches.front().front().shape()[0].factor();
  if (settings.mode == Mode::graph) job.products = [step = calls->step, sizes] { return products_of(step->graph(), sizes); };
  return job;
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, std::uint64_t stream) {
  RandomStream random(0, stream);
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) x = static_cast<float>(low + (high - low) * random.uniform());
  return {data, shape};
}

Tensor labels(std::int64_t count, std::uint32_t classes, std::uint64_t stream) {
  RandomStream random(0, stream);
  std::vector<std::int32_t> data(static_cast<std::size_t>(count));
  for (std::int32_t& x : data) x = static_cast<std::int32_t>(random.below(classes));
  return {data, {count}};
}

double products_of(const ir::Graph& graph, Sizes sizes) {
  double total = 0;
  const auto add = [&]<class O>(ir::NodeId id, const O& op) {
    if constexpr (ir::IsConvolution<O> || std::is_same_v<O, ir::Matmul> || std::is_same_v<O, ir::Dense> || std::is_same_v<O, ir::BatchMatmul>)
      total += ir::flops(graph, id).at(sizes);
    if constexpr (std::is_same_v<O, ir::Scan>) total += products_of(op.body.graph(), sizes) * static_cast<double>(op.length.extent(sizes));
  };
  for (ir::NodeId id = 0; id < graph.size(); ++id)
    if (!graph.node(id).dead) std::visit([&](const auto& op) { add(id, op); }, graph.node(id).op);
  return total;
}

std::vector<Job> training(const char* name, std::shared_ptr<nn::Module> model, const Loss& loss, std::shared_ptr<optim::Optimizer> optimizer,
                          std::vector<Batch> batches, const RunSettings& settings) {
  const auto step = [model, loss, optimizer, parameters = model->trainable_parameters()](std::span<const Tensor> in) {
    const nn::TrainingScope scope;
    const Tensor total = loss(model->call_all(in.first(in.size() - 1))[0], in.back());
    optimizer->update(parameters, grad(total, parameters));
    return std::vector<Tensor>{total};
  };
  return {job_of(step, name, std::move(batches), settings)};
}

std::vector<Job> inference(const char* name, std::shared_ptr<nn::Module> model, Batch inputs, const RunSettings& settings) {
  Job job = job_of([model](std::span<const Tensor> in) { return model->call_all(in); }, name, {std::move(inputs)}, settings);
  job.metric = "call_s";
  return {job};
}

}  // namespace sinter::bench
