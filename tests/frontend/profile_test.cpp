// Trainer::profile: where the time of training went.
#include "frontend/train/profile.h"

#include <chrono>
#include <numeric>
#include <sstream>

#include "frontend/compile/step_times.h"
#include "ir/graph.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::profile_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t features = 24, hidden = 40, classes = 5, samples = 70, batch = 32;

Dataset some_data() { return {random({samples, features}, 1), random_labels(samples, classes, 2)}; }

/// With statistics, random numbers, a norm over all gradients and accuracy: what does not belong to the plain chain of a step.
struct Fitted {
  nn::Sequential model{(seed(3), nn::Dense(features, hidden, Activation::tanh)), nn::BatchNorm(hidden), nn::Dropout(0.2), nn::Dense(hidden, classes)};
  Trainer trainer;

  explicit Fitted(Mode mode, std::vector<metric::Pointer> metrics = {})
      : trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.common = {.clip = {.global_norm = 1}}}),
                {.mode = mode, .metrics = std::move(metrics)}) {}

  std::vector<std::vector<float>> states() const {
    std::vector<std::vector<float>> all;
    for (const Parameter& p : trainer.parameters()) all.push_back(cast(p.read(), DType::f32).to_vector<float>());
    return all;
  }
};

const std::vector<std::string> names{"data", "forward", "backward", "update", "metrics", "waiting", "other"};

double number(const std::string& name, const ProfileReport& report) { return report.part(name).seconds; }

// ---- the parts of a graph ----

/// The graph of the training step, after the passes.
const ir::Graph& step_graph(Fitted& fitted) {
  fitted.trainer.fit(some_data(), {.batch_size = batch, .verbose = false});
  return fitted.trainer.train_step().graph();
}

TEST(StepParts, AreWhereEachNodeCameFrom) {
  NEEDS_CODEGEN();
  Fitted fitted(Mode::graph);
  const ir::Graph& graph = step_graph(fitted);
  const std::vector<TrainingPart> parts = parts_of(graph);
  std::size_t gathers = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::is_leaf(node.op) || node.origin.file.empty() || std::holds_alternative<ir::Constant>(node.op)) continue;  // equal constants are one
    const bool gathers_data = std::holds_alternative<ir::GatherRows>(node.op);
    gathers += gathers_data;
    const bool by_optimizer = node.origin.file == "adam.cpp" || node.origin.file == "optimizer.cpp";
    const TrainingPart wanted = gathers_data                               ? TrainingPart::data
                                : !node.origin.gradient_of.empty()         ? TrainingPart::backward
                                : by_optimizer                             ? TrainingPart::update
                                : node.origin.file == "training_batch.cpp" ? TrainingPart::metrics  // correct predictions
                                                                           : TrainingPart::forward;
    EXPECT_EQ(parts[id], wanted) << id << " " << ir::name(node.op) << " " << node.origin.text() << " " << node.origin.gradient_of;
  }
  EXPECT_EQ(gathers, 2u);
}

TEST(StepParts, AGradientInTheLossIsForward) {
  ir::Graph graph;
  const ir::Value x = graph.add_state({"w", {DType::f32, {3}}, true});
  const auto with = [&](const char* rule, ir::Op op, std::initializer_list<ir::Value> in) {
    const ir::OriginScope scope(graph, {"", "net.cpp", 7, rule});
    return graph.add(std::move(op), in);
  };
  const ir::Value slope = with("square", ir::Mul{}, {x, x}), loss = with("", ir::Sum{0, 1}, {slope}), spread = with("", ir::Neg{}, {x});
  const ir::Value gradient = with("sum", ir::Mul{}, {spread, slope}), next = with("", ir::Sub{}, {x, gradient}), other = with("", ir::Abs{}, {x});
  graph.add_output(loss);
  graph.add_output(other);
  graph.set_update(0, next.id);
  const std::vector<TrainingPart> parts = parts_of(graph);
  EXPECT_EQ(parts[slope.id], TrainingPart::forward);
  EXPECT_EQ(parts[loss.id], TrainingPart::forward);
  EXPECT_EQ(parts[spread.id], TrainingPart::backward);  // read by a gradient alone
  EXPECT_EQ(parts[gradient.id], TrainingPart::backward);
  EXPECT_EQ(parts[next.id], TrainingPart::update);
  EXPECT_EQ(parts[other.id], TrainingPart::metrics);
}

TEST(StepParts, ShareEachKernel) {
  NEEDS_CODEGEN();
  Fitted fitted(Mode::graph);
  const ir::Graph& graph = step_graph(fitted);
  const std::vector<TrainingPart> parts = parts_of(graph);
  const std::vector<ByPart<double>> shares = kernel_shares(graph, parts, batch);
  std::size_t mixed = 0;
  for (const ByPart<double>& share : shares) {
    EXPECT_NEAR(std::accumulate(share.begin(), share.end(), 0.0), 1, 1e-12);
    mixed += std::none_of(share.begin(), share.end(), [](double s) { return s == 1; });
  }
  EXPECT_GT(mixed, 0u);  // a weight's gradient and its update
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (const bool is_product = std::holds_alternative<ir::Matmul>(node.op); is_product && node.kernel >= 0) {
      EXPECT_GT(shares[static_cast<std::size_t>(node.kernel)][static_cast<std::size_t>(parts[id])], 0.2) << id;
    }
  }
}

// ---- profiles ----

TEST(TrainerProfile, CountsStepsSamplesAndTheArithmeticOfEachPart) {
  for (const Mode mode : modes()) {
    Fitted fitted(mode);
    const ProfileReport report = fitted.trainer.profile(some_data(), {.batch_size = batch, .epochs = 2});
    EXPECT_EQ(report.steps, 6);
    EXPECT_EQ(report.samples, 2 * samples);
    EXPECT_EQ(report.mode, mode);
    EXPECT_GE(report.threads, 1);
    // Products: two operations a multiply-add; the first layer passes no gradient on.
    const double first = 2.0 * features * hidden * 2 * samples, last = 2.0 * hidden * classes * 2 * samples;
    EXPECT_GT(report.part("forward").flops, first + last);
    EXPECT_LT(report.part("forward").flops, 2 * (first + last));
    EXPECT_GT(report.part("backward").flops, first + 2 * last);
    EXPECT_LT(report.part("backward").flops, 2 * (first + 2 * last));
    const double parameters = features * hidden + hidden + 2 * hidden + hidden * classes + classes;
    EXPECT_GT(report.part("update").flops, 10 * parameters * 6);  // Adam: at least ten operations a number
    EXPECT_LT(report.part("update").flops, 20 * parameters * 6);
    EXPECT_GT(report.part("metrics").flops, 0);
    for (const char* none : {"data", "waiting", "other"}) EXPECT_EQ(report.part(none).flops, 0) << none;
    double share = 0;
    for (const std::string& name : names) share += report.flop_share(name);
    EXPECT_NEAR(share, 1, 1e-12);
  }
}

TEST(TrainerProfile, TheTimesOfThePartsAreAllTime) {
  for (const Mode mode : modes()) {
    Fitted fitted(mode);
    const ProfileReport report = fitted.trainer.profile(some_data(), {.batch_size = batch, .epochs = 3, .seed = 4});
    ASSERT_EQ(report.parts.size(), names.size());
    double sum = 0, share = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(report.parts[i].name, names[i]);
      EXPECT_GE(report.parts[i].seconds, 0) << names[i];
      sum += report.parts[i].seconds, share += report.time_share(names[i]);
    }
    EXPECT_NEAR(sum, report.seconds, 1e-9);
    EXPECT_NEAR(share, 1, 1e-9);
    for (const char* name : {"data", "forward", "backward", "update"}) EXPECT_GT(number(name, report), 0) << name;
    if (mode == Mode::eager) {
      EXPECT_EQ(number("waiting", report), 0);
    }
    const ProfileReport::Part& forward = report.part("forward");
    EXPECT_DOUBLE_EQ(forward.gflops(), forward.flops / forward.seconds * 1e-9);
  }
}

TEST(TrainerProfile, LeavesTrainingAsItWas) {
  for (const Mode mode : modes()) {
    Fitted profiled(mode), other(mode);
    const Dataset data = some_data();
    for (Fitted* fitted : {&profiled, &other}) fitted->trainer.fit(data, {.batch_size = batch, .verbose = false});
    const auto before = profiled.states();
    const std::size_t compiles = profiled.trainer.train_step().compile_count();
    const std::string explained = mode == Mode::graph ? profiled.trainer.explain().substr(0, 20) : "";
    profiled.trainer.profile(data, {.batch_size = 7, .epochs = 2});
    EXPECT_EQ(profiled.states(), before);
    EXPECT_EQ(profiled.trainer.epoch(), 1);
    if (mode == Mode::graph) {
      EXPECT_EQ(profiled.trainer.explain().substr(0, 20), explained);
    }
    for (Fitted* fitted : {&profiled, &other}) fitted->trainer.fit(data, {.batch_size = batch, .verbose = false});
    EXPECT_EQ(profiled.states(), other.states());
    EXPECT_EQ(profiled.trainer.train_step().compile_count(), compiles + (mode == Mode::graph));  // the one for the profile
  }
}

TEST(StepTimes, AddUpWhileAStepIsObserved) {
  for (const Mode mode : modes()) {
    Fitted fitted(mode);
    const Dataset data = some_data();
    fitted.trainer.fit(data, {.batch_size = batch, .verbose = false});
    StepCore& step = fitted.trainer.train_step();
    StepTimes times;
    step.observe(&times);
    fitted.trainer.train_on_batch(data.x, data.y);
    const StepTimes once = times;
    fitted.trainer.train_on_batch(data.x, data.y);
    step.observe(nullptr);
    EXPECT_GT(once.calls, 0);
    EXPECT_GT(times.calls, once.calls);
    for (std::size_t p = 0; p < once.flops.size(); ++p) EXPECT_EQ(times.flops[p], 2 * once.flops[p]) << p;
    const double after = times.calls;
    fitted.trainer.train_on_batch(data.x, data.y);
    EXPECT_EQ(times.calls, after);  // no longer
  }
}

TEST(TrainerProfile, OfATrainerFromAFile) {
  const TemporaryFolder folder;
  const std::string file = folder / "model.sinter";
  Fitted fitted(modes().back());
  fitted.trainer.fit(some_data(), {.verbose = false});
  fitted.trainer.save(file);
  double flops = 0;
  for (const Mode mode : modes()) {
    Trainer loaded = Trainer::load(file, {.mode = mode});
    const ProfileReport report = loaded.profile(some_data(), {.batch_size = batch});
    for (const char* name : {"forward", "backward", "update", "metrics"}) EXPECT_GT(number(name, report), 0) << name;
    EXPECT_GT(report.flops(), 0);
    if (flops > 0) {
      EXPECT_EQ(report.flops(), flops);  // the same arithmetic in both modes
    }
    flops = report.flops();
  }
}

TEST(TrainerProfile, StopsAfterSoManySteps) {
  Fitted fitted(modes().back());
  EXPECT_EQ(fitted.trainer.profile(some_data(), {.batch_size = batch, .steps = 2}).steps, 2);
  EXPECT_EQ(fitted.trainer.profile(some_data(), {.batch_size = batch, .steps = 5, .epochs = 9}).steps, 5);
  const ProfileReport all = fitted.trainer.profile(some_data(), {.batch_size = batch, .steps = 5, .shuffle = false});
  EXPECT_EQ(all.steps, 3);  // of one epoch
  EXPECT_EQ(fitted.trainer.profile(some_data(), {.batch_size = 1000}).samples, samples);
  EXPECT_EQ(fitted.trainer.profile(some_data().slice(0, 1), {.batch_size = 1}).steps, 1);
}

TEST(TrainerProfile, TheTimeOfAGeneratorIsTimeOfTheData) {
  using Clock = std::chrono::steady_clock;
  Fitted fitted(modes().back());
  double made = 0;
  const Dataset data = some_data();
  const Generator pieces = [&](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    const auto start = Clock::now();
    std::optional<Dataset> result;
    if (piece < 3) result = data.slice(piece * 20, piece * 20 + 20);
    made += std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  };
  const ProfileReport report = fitted.trainer.profile(pieces, {.batch_size = 8, .epochs = 2, .prefetch = 0});
  EXPECT_EQ(report.samples, 2 * 60);
  EXPECT_EQ(report.steps, 2 * 9);
  EXPECT_GE(number("data", report), made);
  EXPECT_EQ(fitted.trainer.profile(pieces, {.batch_size = 8, .prefetch = 3}).steps, 9);  // made ahead, on a thread
}

TEST(TrainerProfile, MetricsCountForThemselves) {
  Fitted fitted(modes().back(), {metric::top_k_accuracy(2)});
  EXPECT_GT(number("metrics", fitted.trainer.profile(some_data(), {.batch_size = batch, .class_weights = {1, 2, 3, 4, 5}})), 0);
}

TEST(TrainerProfile, RefusesWhatFitRefuses) {
  Fitted fitted(modes().back());
  const Dataset data = some_data();
  const auto error = [&](const ProfileOptions& options) { return error_of([&] { fitted.trainer.profile(data, options); }); };
  EXPECT_EQ(error({.batch_size = 0}), "[profile] batch_size and epochs must be at least 1, got 0 and 1");
  EXPECT_EQ(error({.epochs = -1}), "[profile] batch_size and epochs must be at least 1, got 32 and -1");
  EXPECT_EQ(error({.steps = -2}), "[profile] steps must not be negative, got -2; 0 means all of the epochs");
  EXPECT_THAT(error({.class_weights = {1}}), HasSubstr("class_weights has 1 weights, but there is a class"));
  Dataset bad = data;
  bad.x = {random({samples, features}, 1) / Tensor(0.0f)};
  fitted.trainer.fit(data, {.verbose = false});
  const auto before = fitted.states();
  EXPECT_THAT(error_of([&] { fitted.trainer.profile(bad); }), HasSubstr("[profile] x has"));
  EXPECT_EQ(error_of([&] { fitted.trainer.profile(Generator()); }), "[profile] the generator is empty");
  const Generator none = [](std::int64_t, std::int64_t) -> std::optional<Dataset> { return std::nullopt; };
  EXPECT_EQ(error_of([&] { fitted.trainer.profile(none); }), "[profile] the generator has no piece 0 in epoch 1; an epoch needs at least one");
  const Generator fails = [&](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    if (piece) throw UserError("disk", "is gone");
    return data;
  };
  EXPECT_EQ(error_of([&] { fitted.trainer.profile(fails, {.prefetch = 0}); }), "[disk] is gone");
  EXPECT_EQ(fitted.states(), before);  // also after steps that were run before the error
  EXPECT_NO_THROW(fitted.trainer.fit(data, {.verbose = false}));
}

TEST(TrainerProfile, PrintsATable) {
  ProfileReport report;
  report.parts = {{"data", 1e-3, 0}, {"forward", 3e-3, 6e6}, {"backward", 6e-3, 18e6}};
  report.seconds = 10e-3;
  report.steps = 10, report.samples = 320, report.threads = 2;
  EXPECT_EQ(str(report),
            "10 steps on 320 samples, compiled, at most 2 threads: 10.0 ms, 1000.0 us a step, 2.40 GFLOP/s\n"
            "part         us a step     time   arithmetic   GFLOP/s\n"
            "data             100.0   10.0 %        0.0 %\n"
            "forward          300.0   30.0 %       25.0 %      2.00\n"
            "backward         600.0   60.0 %       75.0 %      3.00\n");
  EXPECT_EQ(error_of([&] { (void)report.part("forwards"); }), "[profile] a profile has no part 'forwards'; it has data, forward, backward");
  EXPECT_EQ(ProfileReport{}.flops(), 0);
  EXPECT_THAT(str(ProfileReport{}), HasSubstr("0 steps on 0 samples"));
}

}  // namespace
}  // namespace sinter::test::profile_test
