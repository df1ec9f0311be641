// summary({.details = true}): the settings of layers, losses and optimizers.
#include <set>

#include "frontend/nn/other_defaults.h"
#include "frontend/nn/summary.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::details_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Details, TellWhatEachLayerWasMadeWith) {
  nn::Sequential model{nn::Dense(20, 64, Activation::gelu, {.weight = init::he_normal(), .penalty = {.l1 = 0.5f, .l2 = 1e-4f}}), nn::BatchNorm(64),
                       nn::Dropout(0.2), nn::Flatten(), nn::Dense(64, 3, Activation::none, {.use_bias = false})};
  const nn::SummaryOptions details{.details = true};
  EXPECT_EQ(model.summary({DType::f32, {Dim::batch(), 20}}, details),
            "Layer (kind)               Output shape  Parameters\n"
            "===================================================\n"
            "dense_1 (dense)            [N,64]             1,344\n"
            "  activation gelu, weight he_normal, bias zeros, l1 0.5, l2 0.0001\n"
            "  Keras: weight glorot_uniform; PyTorch: weight uniform(±1/√in), bias uniform(±1/√in)\n"
            "batch_norm_1 (batch_norm)  [N,64]               256\n"
            "  momentum 0.9, epsilon 1e-05, scale yes, center yes, running variance over the count\n"
            "  Keras: momentum 0.99, epsilon 0.001; PyTorch: running variance over the count - 1\n"
            "dropout_1 (dropout)        [N,64]                 1\n"
            "  rate 0.2\n"
            "flatten_1 (flatten)        [N,64]                 0\n"
            "dense_2 (dense)            [N,3]                192\n"
            "  activation none, weight glorot_uniform, bias none\n"
            "  PyTorch: weight uniform(±1/√in)\n"
            "===================================================\n"
            "Parameters: 1,793 (1,664 trainable, 129 not)\n");
}

TEST(Details, AreLeftOutUnlessAskedFor) {
  nn::Sequential model{nn::Dense(2, 3)};
  const Type input{DType::f32, {Dim::batch(), 2}};
  EXPECT_THAT(model.summary(input), Not(HasSubstr("glorot")));
  EXPECT_EQ(model.summary(input), model.summary(input, {}));
  EXPECT_EQ(model.summary_all(std::array{input}, {.details = true}), model.summary(input, {.details = true}));
}

std::string settings_of(const nn::Module& module) { return text_of(module.settings()); }

TEST(Details, OfEveryLayer) {
  EXPECT_EQ(settings_of(nn::Conv2D(4, 8, {3, 5}, Activation::relu, {.strides = {2}, .padding = Padding::same(), .groups = 2})),
            "activation relu, kernel 3×5, strides 2, padding same, dilations 1, groups 2, weight glorot_uniform, bias zeros");
  EXPECT_EQ(settings_of(nn::Conv1D(1, 2, 3, Activation::none, {.padding = Padding::around({2})})),
            "activation none, kernel 3, strides 1, padding 2, dilations 1, groups 1, weight glorot_uniform, bias zeros");
  EXPECT_THAT(settings_of(nn::Conv2DTranspose(1, 2, {3}, Activation::none, {.padding = Padding::sides({{0, 1}, {2, 2}})})),
              HasSubstr("padding 0+1×2,"));
  EXPECT_EQ(settings_of(nn::MaxPool2D({2})), "window 2, strides the window, padding valid");
  EXPECT_EQ(settings_of(nn::MaxPool1D(3, {.strides = {2}})), "window 3, strides 2, padding valid");
  EXPECT_EQ(settings_of(nn::AveragePool2D({2, 3}, {.padding = Padding::same()})), "window 2×3, strides the window, padding same, counts padding no");
  EXPECT_EQ(settings_of(nn::AveragePool1D(2)), "window 2, strides the window, padding valid");
  EXPECT_EQ(settings_of(nn::AdaptiveMaxPool2D({7})), "out 7");
  EXPECT_EQ(settings_of(nn::AdaptiveAveragePool2D({3, 4})), "out 3×4");
  EXPECT_EQ(settings_of(nn::AdaptiveMaxPool1D(5)), "out 5");
  EXPECT_EQ(settings_of(nn::AdaptiveAveragePool1D(6)), "out 6");
  EXPECT_EQ(settings_of(nn::Upsample({2, 3})), "scale 2×3, interpolation nearest");
  EXPECT_EQ(settings_of(nn::Upsample({2}, Interpolation::bilinear)), "scale 2, interpolation bilinear");
  EXPECT_EQ(settings_of(nn::ZeroPadding({1, 2})), "padding 1×2");
  EXPECT_EQ(settings_of(nn::SpatialDropout(0.5)), "rate 0.5");
  EXPECT_EQ(settings_of(nn::BatchNorm(2)), "momentum 0.9, epsilon 1e-05, scale yes, center yes, running variance over the count");
  EXPECT_EQ(settings_of(nn::LayerNorm(2, {.epsilon = 0.5, .center = false})), "epsilon 0.5, scale yes, center no");
  EXPECT_EQ(settings_of(nn::GroupNorm(2, 4, {.scale = false})), "groups 2, epsilon 1e-05, scale no, center yes");
  EXPECT_EQ(settings_of(nn::InstanceNorm(2)), "epsilon 1e-05, scale yes, center yes");
  EXPECT_EQ(settings_of(nn::Embedding(5, 2, {.weight = init::constant(2), .mask_zero = true})), "weight constant(2), mask_zero yes");
  EXPECT_EQ(settings_of(nn::LeakyReLU(0.25f)), "slope 0.25");
  EXPECT_EQ(settings_of(nn::ELU(2)), "alpha 2");
  EXPECT_EQ(settings_of(nn::GELU(true)), "approximate yes");
  EXPECT_EQ(settings_of(nn::PReLU(3)), "slope 0.25");
  EXPECT_EQ(settings_of(nn::Masking(-1)), "value -1");
  EXPECT_EQ(
      settings_of(nn::SimpleRNN(2, 3, {.dropout = 0.1, .penalty = {.l2 = 2}, .recurrent_penalty = {.l1 = 3}})),
      "activation tanh, return_sequences no, return_state no, reverse no, dropout 0.1, recurrent_dropout 0, weight glorot_uniform, bias zeros, l2 2, "
      "recurrent_weight orthogonal, recurrent l1 3");
  EXPECT_THAT(settings_of(nn::GRU(2, 3, {.reset_after = false})),
              AllOf(HasSubstr("activation tanh, recurrent_activation sigmoid, return_sequences no"), HasSubstr("reset_after no")));
  EXPECT_THAT(settings_of(nn::LSTM(2, 3)), HasSubstr("unit_forget_bias yes"));
  EXPECT_EQ(settings_of(nn::Bidirectional(nn::GRU(2, 3), nn::Merge::mean)), "merge mean");
  EXPECT_EQ(settings_of(nn::Flatten()), "");
}

TEST(Details, OfALayerOfOnesOwn) {
  struct Scale : nn::Module {
    Scale() : Module("scale") {}
    Tensor forward(const Tensor& x) override { return x * 3; }
    std::vector<Setting> settings() const override {
      return {{"factor", 3}, {"kind", "fixed"}, {"learned", false}, {"sizes", std::vector<std::int64_t>{1, 2}}};
    }
  };
  EXPECT_THAT(nn::Sequential{Scale()}.summary({DType::f32, {Dim::batch(), 2}}, {.details = true}),
              HasSubstr("\n  factor 3, kind fixed, learned no, sizes 1×2\n"));
}

TEST(Details, NamesOfInitializers) {
  const std::vector<std::pair<std::string, Initializer>> initializers{{"constant(0.5)", init::constant(0.5f)},
                                                                      {"zeros", init::zeros()},
                                                                      {"ones", init::ones()},
                                                                      {"uniform(-0.05, 0.05)", init::uniform()},
                                                                      {"normal(0, 1)", init::normal(0, 1)},
                                                                      {"truncated_normal(0, 0.05)", init::truncated_normal()},
                                                                      {"glorot_uniform", init::glorot_uniform()},
                                                                      {"glorot_normal", init::glorot_normal()},
                                                                      {"he_uniform", init::he_uniform()},
                                                                      {"he_normal", init::he_normal()},
                                                                      {"lecun_uniform", init::lecun_uniform()},
                                                                      {"lecun_normal", init::lecun_normal()},
                                                                      {"orthogonal", init::orthogonal()},
                                                                      {"orthogonal(2)", init::orthogonal(2)},
                                                                      {"own", [](const Shape& shape) { return Tensor::zeros({DType::f32, shape}); }}};
  for (const auto& [name, initializer] : initializers) EXPECT_EQ(init::name_of(initializer), name);
}

TEST(Details, OfATrainerAreThoseOfLossAndOptimizerToo) {
  nn::Sequential model{nn::Dense(3, 2)};
  Trainer trainer(
      model, loss::sparse_categorical_crossentropy_from_logits,
      optim::Adam({.learning_rate = 0.01,
                   .common = {.clip = {.global_norm = 1},
                              .accumulate = 2,
                              .average_decay = 0.99,
                              .groups = {{.pattern = "*.bias", .rate = 0.5, .weight_decay = 0.0}, {.pattern = "*.weight", .frozen = true}}}}),
      {.mode = Mode::eager});
  (void)trainer.evaluate({random({4, 3}, 1), random_labels(4, 2, 2)});
  EXPECT_THAT(
      trainer.summary({.details = true}),
      AllOf(HasSubstr("dense_1 (dense)  [N,2]                  8\n  activation none, weight glorot_uniform, bias zeros\n"
                      "  PyTorch: weight uniform(±1/√in), bias uniform(±1/√in)\n"),
            HasSubstr("Loss: sparse_categorical_crossentropy_from_logits\n  from_logits yes, label_smoothing 0, weighted mean over samples\n"
                      "  Keras: from_logits no; PyTorch: weighted mean over the sum of the weights\n"),
            HasSubstr("Optimizer: adam\n  learning_rate 0.01, beta1 0.9, beta2 0.999, epsilon 1e-08, amsgrad no, weight_decay 0, "
                      "clip.global_norm 1, accumulate 2, average_decay 0.99, group '*.bias' rate 0.5 weight_decay 0, group '*.weight' frozen\n"
                      "  Keras: learning_rate 0.001, epsilon 1e-07; PyTorch: learning_rate 0.001\n")));
  EXPECT_THAT(trainer.summary(), Not(HasSubstr("Optimizer")));
}

TEST(Details, OfSeveralLosses) {
  struct Two : nn::Model {
    nn::Dense a{3, 1}, b{3, 1};
    Two() : Model("two") { add(a), add(b); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {a(in[0]), b(in[0])}; }
  };
  Two model;
  Trainer trainer(model, {{loss::huber(2), 1}, {loss::mean_squared_error, 0.5}}, optim::SGD(), {.mode = Mode::eager});
  const Tensor y = random({4, 1}, 2);
  (void)trainer.evaluate({.x = {random({4, 3}, 1)}, .y = {y, y}});
  EXPECT_THAT(trainer.summary({.details = true}), HasSubstr("Loss of output 1, times 1: huber\n  delta 2\n  Keras: delta 1; PyTorch: delta 1\n"
                                                            "Loss of output 2, times 0.5: mean_squared_error\nOptimizer: sgd\n"));
}

TEST(Details, OfAFileAreNotKnown) {
  const TemporaryFolder folder;
  nn::Sequential model{nn::Dense(3, 2)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)trainer.evaluate({random({4, 3}, 1), random({4, 2}, 2)});
  trainer.save(folder / "m.sinter");
  EXPECT_THAT(Trainer::load(folder / "m.sinter").summary({.details = true}), HasSubstr("\nA file does not have the settings of layers.\n"));
}

TEST(Details, EveryOptimizerTellsItsOptions) {
  const auto text = [](const optim::Optimizer& optimizer) { return text_of(optimizer.settings()); };
  EXPECT_EQ(text(optim::SGD({.momentum = 0.5, .nesterov = true})), "learning_rate 0.01, momentum 0.5, nesterov yes, weight_decay 0");
  EXPECT_EQ(text(optim::RMSprop()), "learning_rate 0.001, rho 0.9, epsilon 1e-07, epsilon_outside no, momentum 0, centered no, weight_decay 0");
  EXPECT_EQ(text(optim::Adagrad()), "learning_rate 0.01, epsilon 1e-10, initial_sum 0, weight_decay 0");
  EXPECT_EQ(text(optim::Adadelta()), "learning_rate 1, rho 0.9, epsilon 1e-06, weight_decay 0");
  EXPECT_EQ(text(optim::AdamW()), "learning_rate 0.001, beta1 0.9, beta2 0.999, epsilon 1e-08, amsgrad no, weight_decay 0.01");
  EXPECT_EQ(text(optim::NAdam()), "learning_rate 0.002, beta1 0.9, beta2 0.999, epsilon 1e-08, momentum_decay 0.004, weight_decay 0");
  EXPECT_EQ(text(optim::Lion({.learning_rate = 0.5})), "learning_rate 0.5, beta1 0.9, beta2 0.99, weight_decay 0");
}

/// Each row of the table names a setting that something has.
TEST(Details, TheTableOfOtherDefaultsNamesSettingsThatThereAre) {
  std::set<std::pair<std::string, std::string>> there;
  const auto add = [&](const std::string& of, const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) there.emplace(of, setting.name);
  };
  const auto add_module = [&](const nn::Module& module) { add(module.kind(), module.settings()); };
  const PoolOptions padded{.padding = Padding::same()};
  add_module(nn::Dense(1, 1));
  add_module(nn::Conv1D(1, 1, 1));
  add_module(nn::Conv2D(1, 1, {1}));
  add_module(nn::Conv2DTranspose(1, 1, {1}));
  add_module(nn::MaxPool1D(2));
  add_module(nn::MaxPool2D({2}));
  add_module(nn::AveragePool1D(2, padded));
  add_module(nn::AveragePool2D({2}, padded));
  add_module(nn::BatchNorm(1));
  add_module(nn::LayerNorm(1));
  add_module(nn::GroupNorm(1, 1));
  add_module(nn::InstanceNorm(1));
  add_module(nn::Upsample({2}));
  add_module(nn::Embedding(1, 1));
  add_module(nn::LeakyReLU());
  add_module(nn::ELU());
  add_module(nn::GELU());
  add_module(nn::PReLU());
  add_module(nn::SimpleRNN(1, 1));
  add_module(nn::GRU(1, 1));
  add_module(nn::LSTM(1, 1));
  const auto add_optimizer = [&](const optim::Optimizer& optimizer) { add(optimizer.name(), optimizer.settings()); };
  add_optimizer(optim::SGD());
  add_optimizer(optim::RMSprop());
  add_optimizer(optim::Adagrad());
  add_optimizer(optim::Adadelta());
  add_optimizer(optim::Adam());
  add_optimizer(optim::AdamW());
  add_optimizer(optim::NAdam());
  add_optimizer(optim::Lion());
  for (const Loss& loss : {loss::categorical_crossentropy, loss::categorical_crossentropy_from_logits, loss::sparse_categorical_crossentropy,
                           loss::sparse_categorical_crossentropy_from_logits, loss::binary_crossentropy, loss::binary_crossentropy_from_logits,
                           loss::kl_divergence, loss::huber()})
    add(loss.name(), loss.settings());
  for (const nn::OtherDefault& one : nn::all_other_defaults())
    EXPECT_TRUE(there.contains({std::string(one.of), std::string(one.setting)})) << one.of << " " << one.setting;
}

}  // namespace
}  // namespace sinter::test::details_test
