// Samples of many rows: chunks are rows, and memory is as large as what lives in it.
#include "runtime/parallelism.h"
#include "tests/codegen/raw_step.h"

namespace sinter::test::many_rows_test {
namespace {

/// Two dense layers around a gelu, a residual, layer norm; AdamW.
struct Block {
  nn::Dense up, down;
  nn::LayerNorm norm;
  optim::AdamW optimizer;

  explicit Block(std::int64_t width) : up(width, 4 * width), down(4 * width, width), norm(width) {}

  Tensor step(const Tensor& x, const Tensor& y) {
    std::vector<Parameter> parameters;
    for (const nn::Module* module : std::initializer_list<const nn::Module*>{&up, &down, &norm})
      for (const Parameter& p : module->parameters()) parameters.push_back(p);
    const Tensor loss = mean(square(norm(x + down(gelu(up(x)))) - y));
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  }
};

/// The optimized graph of a step on x [N, rows, width].
ir::Graph block(std::int64_t rows, std::int64_t width) {
  Block model(width);
  StepCore step([&](std::span<const Tensor> in) { return std::vector{model.step(in[0], in[1])}; }, {.name = "block"},
                std::source_location::current());
  const Spec x = Spec::batch(DType::f32, {rows, width}), specs[] = {x, x};
  ir::Graph graph = step.record(specs).graph;
  passes::optimize(graph);
  return graph;
}

/// Bytes of the arenas at batch size n.
std::int64_t arena_bytes(const StepImage& image, std::int64_t n) {
  std::int64_t bytes = 0;
  for (const Arena& arena : image.arenas) bytes += arena.bytes * arena.units(n);
  return bytes;
}

/// The most bytes that the values in arenas have together in any phase.
std::int64_t most_live_bytes(const StepImage& image, std::int64_t n) {
  std::int64_t most = 0;
  for (std::uint32_t phase = 0; phase < image.phases.size(); ++phase) {
    std::int64_t live = 0;
    for (const BufferSpec& buffer : image.buffers)
      if (buffer.place == Place::arena && buffer.first_phase <= phase && phase <= buffer.last_phase)
        live += layout(buffer.type.shape, n).padded_elements() * static_cast<std::int64_t>(size_of(buffer.type.dtype));
    most = std::max(most, live);
  }
  return most;
}

TEST(ManyRows, KeepAllThreadsBusyInLittleMemory) {
  const StepImage image = codegen::compile(block(1024, 768), {}).image;
  EXPECT_LE(image.scratch_bytes, 25 << 20);
  EXPECT_LE(static_cast<double>(arena_bytes(image, 8)), 1.2 * static_cast<double>(most_live_bytes(image, 8)));
  EXPECT_LE(static_cast<double>(arena_bytes(image, 4)), 1.1 * 0.5 * static_cast<double>(arena_bytes(image, 8)));
  const std::vector<double> seconds = runtime::estimated_seconds(image, 8);
  for (const int threads : {2, 4, 16, 64}) {
    const runtime::Parallelism found = runtime::parallelism(image, 8, threads, seconds);
    EXPECT_GE(found.busy_threads, 0.75 * threads) << "the others wait for " << image.kernels[found.kernel].name;
  }
}

TEST(ManyRows, GiveTheSameBytesOnAnyNumberOfThreadsAndChecked) {
  const ir::Graph graph = block(130, 20);
  for (const std::int64_t n : {1, 3}) {
    RawStep one(graph, {}, n);
    EXPECT_EQ(one.run(1), "");
    for (const int threads : {2, 4}) {
      RawStep more(graph, {}, n);
      EXPECT_EQ(more.run(threads), "");
      EXPECT_EQ(more.values(), one.values()) << n << " samples, " << threads << " threads";
    }
    RawStep checked(graph, {.checked = true}, n);
    EXPECT_EQ(checked.run(2), "");
    EXPECT_EQ(checked.values(), one.values()) << n << " samples";
  }
}

TEST(ManyRows, AgreeWithTheDoubleReference) {
  Block model(20);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return model.step(x, y); });
  for (const std::int64_t n : {1, 3}) {
    const VerifyReport report = step.verify(random({n, 130, 20}, 1), random({n, 130, 20}, 2));
    EXPECT_TRUE(report.ok()) << report;
  }
}

/// The terms of a weight's gradient are divided too, and its pieces are finished by any thread; beside a single sample that is cut, too.
TEST(WeightGradient, HasTheSameBytesOnAnyNumberOfThreads) {
  for (const bool updates : {false, true})
    for (const std::int64_t n : {1, 63, 1024, 1025, 5000}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3, 4}) {
        Parameter weight("weight", random({100, 70}, 1)), wide("wide", random({100, 1024}, 4));
        auto step = compile(
            [&](const Tensor& x, const Tensor& y) {
              const Tensor gradient = matmul(transpose(x), y);
              if (updates) weight.assign(weight - gradient * 0.01f);
              return std::tuple(gradient, matmul(x, wide));
            },
            {.threads = threads, .force = true});
        const Tensor x = random({n, 100}, 2), y = random({n, 70}, 3);
        EXPECT_TRUE(threads > 1 || step.verify(x, y).ok()) << n << " samples";
        const auto [gradient, product] = step(x, y);
        std::vector<float> values;
        for (const Tensor& t : {gradient, product, weight.read()})
          for (const float v : t.to_vector<float>()) values.push_back(v);
        if (first.empty()) first = values;
        EXPECT_EQ(values, first) << n << " samples, " << threads << " threads";
      }
    }
}

}  // namespace
}  // namespace sinter::test::many_rows_test
