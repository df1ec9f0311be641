// Checked steps: they compute the same, and each kind of fault in generated code is found and named.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "codegen/scan_plan.h"
#include "frontend/compile/variant.h"
#include "ir/sanitizers.h"
#include "tests/codegen/raw_step.h"
#include "tests/support/bytes.h"

namespace sinter::test::checked_test {
namespace {

using codegen::Sabotage;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

/// ThreadSanitizer would report faults on two threads itself.
constexpr int most_threads = SINTER_THREAD_SANITIZER ? 1 : 2;

/// The optimized graph of a function of 100 samples of 40 numbers.
ir::Graph graph_of(const std::function<std::vector<Tensor>(const Tensor&)>& f) {
  StepCore step([&](std::span<const Tensor> in) { return f(in[0]); }, {.name = "small"}, std::source_location::current());
  const Spec specs[] = {Spec::batch(DType::f32, {40})};
  ir::Graph graph = step.record(specs).graph;
  passes::optimize(graph);
  return graph;
}

/// Gives two buffers that are in use at once the same memory. Returns the name of the one that moved.
std::string share_memory(StepImage& image) {
  std::vector<BufferSpec*> live;
  for (BufferSpec& buffer : image.buffers)
    if (buffer.place == Place::arena && buffer.type.shape.has_batch() && buffer.first_phase == 0) live.push_back(&buffer);
  EXPECT_GT(live.size(), 1u);
  const auto size = [](const BufferSpec* buffer) { return symbolic_layout(buffer->type.shape).stride.factor(); };
  std::sort(live.begin(), live.end(), [&](const BufferSpec* a, const BufferSpec* b) { return size(a) < size(b); });
  live[0]->index = live[1]->index;
  live[0]->offset = live[1]->offset;
  return live[0]->name;
}

TEST(Checked, ComputesTheSameBytes) {
  for (const std::int64_t n : {1, 7, 100})
    for (const int threads : {1, 3}) {
      RawStep plain(mlp(), {}, n), checked(mlp(), {.checked = true}, n);
      EXPECT_EQ(plain.run(threads), "");
      EXPECT_EQ(checked.run(threads), "") << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.values(), plain.values()) << n << " samples, " << threads << " threads";
    }
}

TEST(Checked, ComputesTheSameBytesInALoopOverTime) {
  const ir::Graph graph = recurrent_training_graph();
  for (const std::int64_t n : {1, 7, 100})
    for (const int threads : {1, 3}) {
      RawStep plain(graph, {}, n), checked(graph, {.checked = true}, n);
      EXPECT_EQ(plain.run(threads), "");
      EXPECT_EQ(checked.run(threads), "") << n << " samples, " << threads << " threads";
      EXPECT_EQ(checked.values(), plain.values()) << n << " samples, " << threads << " threads";
    }
}

TEST(Checked, TilesOfABatchedProductEndBehindItsRows) {
  // Matrices of five rows, whose batch is not their first dimension: one chunk has them all.
  const ir::Graph graph = graph_of([](const Tensor& x) {
    const Tensor y = permute(reshape(x, {-1, 4, 5, 2}), {1, 0, 2, 3});
    return std::vector{relu(matmul(y, permute(y, {0, 1, 3, 2})) - 0.5f)};
  });
  for (const std::int64_t n : {1, 3, 64}) {
    RawStep plain(graph, {}, n), checked(graph, {.checked = true}, n);
    EXPECT_EQ(plain.run(), "");
    EXPECT_EQ(checked.run(), "") << n << " samples";
    EXPECT_EQ(checked.values(), plain.values()) << n << " samples";
  }
}

TEST(Checked, LanesWhoseTablePlaceIsKnown) {
  // What a cosine reads from its table is known for the zeros of the padding, whole vectors of them.
  const ir::Graph graph = graph_of([](const Tensor& x) { return std::vector{cos(floor(pad(slice(x, 1, 0, 8), 1, 7, 6)))}; });
  RawStep plain(graph, {}, 3), checked(graph, {.checked = true}, 3);
  EXPECT_EQ(plain.run(), "");
  EXPECT_EQ(checked.run(), "");
  EXPECT_EQ(checked.values(), plain.values());
}

TEST(Checked, AColumnIsReadNoFurtherThanItsMatrix) {
  // Behind a column of four elements lie those of another chunk, which are stored in the same phase.
  const ir::Graph graph = graph_of([](const Tensor& x) {
    const Tensor left = reshape(x, {-1, 4, 1}), right = reshape(x * 2, {-1, 4, 1});
    return std::vector{right, relu(matmul(left, right, false, true) - 0.25f)};
  });
  for (const std::int64_t n : {1, 3, 64, 300}) {
    RawStep plain(graph, {}, n), checked(graph, {.checked = true}, n);
    EXPECT_EQ(plain.run(2), "");
    EXPECT_EQ(checked.run(2), "") << n << " samples";
    EXPECT_EQ(checked.values(), plain.values()) << n << " samples";
  }
}

/// What compile_graph makes of the optimized training step, as the environment wishes; two buffers that are in use at once are given the same memory.
StepImage spoilt_by_environment() {
  Traced traced;
  traced.graph = mlp();
  StepImage image = compile_graph(std::move(traced), {.settings = settings()}).image;
  share_memory(image);
  return image;
}

TEST(Checked, TheEnvironmentAsksForIt) {
  const auto found = [](const char* wish) {
    const Environment environment("SINTER_CHECKED", wish);
    return RawStep(spoilt_by_environment(), mlp(), 100).run();
  };
  EXPECT_THAT(found("1"), HasSubstr(" stores to '")) << "with checks the fault is found";
  EXPECT_EQ(found("0"), "") << "without them nobody sees it";
  EXPECT_EQ(found(""), "");

  // Steps of the front end are compiled as it wishes: the code that LLVM gets has the mark of checked kernels.
  const TemporaryFolder folder;
  const auto compiled = [&](const char* wish, const std::string& name) {
    const std::string dump = folder.path + "/" + name;
    const Environment environment("SINTER_CHECKED", wish), dumped("SINTER_DUMP", dump.c_str());
    SmallModel m;
    m.step(test::random({65, 20}, 1), random_labels(65, 7, 2));
    std::string code;
    for (const auto& file : std::filesystem::recursive_directory_iterator(dump))
      if (file.path().filename() == "step.ll") code += test::read_bytes(file.path());
    EXPECT_THAT(code, HasSubstr("define ")) << "the dump has the code";
    return std::pair(code.find("sinter-checked-kernel") != code.npos, m.values());
  };
  const auto checked = compiled("1", "checked"), plain = compiled("0", "plain");
  EXPECT_TRUE(checked.first);
  EXPECT_FALSE(plain.first);
  EXPECT_EQ(checked.second, plain.second);

  const Environment bad("SINTER_CHECKED", "yes");
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(test::random({4, 20}, 1), random_labels(4, 7, 2)); }), HasSubstr("[SINTER_CHECKED] must be 0 or 1, got 'yes'"));
}

/// Every buffer of every kernel but `unread` in turn begins a row too late; returns how many did.
std::size_t shift_every_pointer(const ir::Graph& graph, const std::string& unread = "") {
  const RawStep good(graph, {}, 100);
  std::size_t shifted = 0;
  for (std::size_t k = 0; k < good.image.kernels.size(); ++k)
    for (std::size_t a = 0; a < good.image.kernels[k].buffers.size(); ++a) {
      const BufferSpec& buffer = good.image.buffers[good.image.kernels[k].buffers[a]];
      // Chunk scratch has room for more rows than the last chunk has, and there are more slots than chunks.
      if (buffer.place == Place::scratch || buffer.name.starts_with("partials")) continue;
      if (buffer.name == unread && good.image.kernels[k].name.starts_with("scan")) continue;
      RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::shifted_pointer, k, a}}, 100);
      EXPECT_THAT(bad.run(), AllOf(HasSubstr(str("kernel ", k, " (", good.image.kernels[k].name, ")")), HasSubstr("'" + buffer.name + "'"),
                                   AnyOf(HasSubstr(" loads "), HasSubstr(" stores "))))
          << "argument " << a;
      ++shifted;
    }
  return shifted;
}

/// A layer, and a sum over all that goes through slots.
TEST(Checked, FindsEveryShiftedPointer) {
  nn::Dense layer(40, 24, Activation::sigmoid);
  EXPECT_GE(shift_every_pointer(graph_of([&](const Tensor& x) {
              const Tensor y = layer(x);
              return std::vector{y, mean(y * y)};
            })),
            5u);
}

TEST(Checked, FindsEveryShiftedPointerOfALoopOverTime) {
  nn::LSTM layer(8, 12, {.return_sequences = true, .return_state = true});
  const ir::Graph graph = graph_of([&](const Tensor& x) {
    const Tensor sequence = reshape(x, {-1, 5, 8});
    return layer.call_all({&sequence, 1});
  });
  EXPECT_GE(shift_every_pointer(graph, "recurrent_weight"), 8u) << "of so many samples the loop reads the packed weight alone";
}

TEST(Checked, AStoreOutsideIsNotExecuted) {
  const ir::Graph graph = graph_of([](const Tensor& x) { return std::vector{x * 2.0f}; });
  RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::shifted_pointer, 0, 1}}, 100);
  // Room for one row more than the step knows of.
  const Tensor room = Tensor::zeros({DType::f32, {101, 40}});
  bad.bind_output(0, room);
  EXPECT_THAT(bad.run(), AllOf(HasSubstr("stores"), HasSubstr("'output 0', which has 16000")));
  const std::vector<float> rows = room.to_vector<float>();
  for (std::size_t i = 100 * 40; i < rows.size(); ++i) EXPECT_EQ(rows[i], 0);
}

TEST(Checked, FindsChunksThatOverlap) {
  const ir::Graph graph = graph_of([](const Tensor& x) { return std::vector{x * 2.0f}; });
  for (int threads = 1; threads <= most_threads; ++threads) {
    RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::wide_chunk, 0}}, 100);
    EXPECT_THAT(bad.run(threads), AllOf(HasSubstr("in phase 0 chunk "), HasSubstr(" of kernel 0 (mul) stores to 'output 0' what chunk "),
                                        HasSubstr(" of kernel 0 (mul) stores too: 160 bytes")));
  }
}

TEST(Checked, FindsChunksOfALoopOverTimeThatOverlap) {
  const ir::Graph graph = recurrent_training_graph();
  const RawStep good(graph, {}, 100);
  const auto loop =
      std::find_if(good.image.kernels.begin(), good.image.kernels.end(), [](const auto& kernel) { return kernel.name.starts_with("scan"); });
  ASSERT_NE(loop, good.image.kernels.end());
  const auto number = static_cast<std::size_t>(loop - good.image.kernels.begin());
  RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::wide_chunk, number}}, 100);
  // It also begins before its chunk scratch.
  EXPECT_THAT(bad.run(), AllOf(HasSubstr(str("kernel ", number, " (scan")), AnyOf(HasSubstr(" stores too: "), HasSubstr(" at byte -64 of "))));
}

TEST(Checked, FindsAMissingBarrierBeforeALoopOverTime) {
  const ir::Graph graph = recurrent_training_graph();
  std::size_t found = 0;
  const std::size_t phases = RawStep(graph, {}, 100).image.phases.size();
  for (std::size_t phase = 0; phase + 1 < phases; ++phase) {
    RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::no_barrier, phase}}, 100);
    found += bad.run().find(" (scan") != std::string::npos;
  }
  EXPECT_GE(found, 1u);
}

/// Between the sections of a loop: before its first step, the product and the rest of each step, and after its last.
TEST(Checked, FindsAMissingBarrierBetweenSharedSteps) {
  nn::SimpleRNN layer(8, 520);
  const ir::Graph graph = graph_of([&](const Tensor& x) { return std::vector{layer(reshape(x, {-1, 5, 8}))}; });
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  const auto loop = std::find_if(schedule.kernels.begin(), schedule.kernels.end(), [](const codegen::Kernel& kernel) { return kernel.cuts_steps(); });
  ASSERT_NE(loop, schedule.kernels.end());
  const auto number = static_cast<std::size_t>(loop - schedule.kernels.begin());
  ASSERT_EQ(loop->scan->sections(), 4u);
  for (const std::size_t section : {1, 2, 3}) {
    RawStep bad(graph, {.checked = true, .sabotage = {Sabotage::Kind::no_step_barrier, number, section}}, 3);
    EXPECT_THAT(bad.run(2), AllOf(HasSubstr(" stores to '"), HasSubstr(str("kernel ", number, " (scan")))) << "section " << section;
  }
}

TEST(Checked, FindsAMissingBarrier) {
  for (int threads = 1; threads <= most_threads; ++threads) {
    RawStep bad(mlp(), {.checked = true, .sabotage = {Sabotage::Kind::no_barrier, 0}}, 100);
    EXPECT_THAT(bad.run(threads), AllOf(HasSubstr(" stores to '"), HasSubstr(" loads too: ")));
  }
}

/// A buffer that is said to be needed no more after the phase that writes it: its readers find NaN.
TEST(Checked, FillsDeadBuffersWithNaN) {
  RawStep step(mlp(), {.checked = true}, 100);
  std::size_t shortened = 0;
  for (BufferSpec& buffer : step.image.buffers)
    if (buffer.place == Place::arena && buffer.last_phase > buffer.first_phase) {
      buffer.last_phase = buffer.first_phase;
      ++shortened;
    }
  ASSERT_GT(shortened, 0u);
  EXPECT_EQ(step.run(), "");
  std::size_t spoilt = 0;
  for (const float x : step.values()) spoilt += std::isnan(x);
  EXPECT_GT(spoilt, 0u);
}

TEST(Checked, FindsBuffersThatShareMemory) {
  RawStep step(mlp(), {.checked = true}, 100);
  const std::string moved = share_memory(step.image);
  EXPECT_THAT(step.run(), AllOf(HasSubstr(" stores to '"), HasSubstr("'" + moved + "'")));
}

}  // namespace
}  // namespace sinter::test::checked_test
