#include "bench/recurrent.h"

#include <algorithm>
#include <numeric>

#include "bench/network.h"
#include "bench/show.h"

namespace sinter::bench {

namespace {

std::shared_ptr<optim::Optimizer> adam(double rate) { return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = rate}); }

/// Multiply-adds of a recurrent layer of so many gates over a sequence: of the inputs, and of the states.
double of_inputs(double steps, double inputs, double units, double gates) { return steps * inputs * units * gates; }
double of_states(double steps, double units, double gates) { return steps * units * units * gates; }

/// Class of sequences of 150 word numbers.
template <class Layer>
std::vector<Job> words_step(const char* name, const RunSettings& settings) {
  constexpr std::int64_t batch = 64, words = 150, vocabulary = 30000;
  seed(3);
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 4; ++i)
    batches.push_back({reshape(labels(batch * words, vocabulary, 100 + i), {batch, words}), labels(batch, 2, 105 + i)});
  return training(name, nn::share(nn::Sequential{nn::Embedding(vocabulary, 125), Layer(125, 100), nn::Dense(100, 2)}),
                  loss::sparse_categorical_crossentropy_from_logits, adam(1e-3), std::move(batches), settings);
}

}  // namespace

std::vector<Job> gru_step(const RunSettings& settings) { return words_step<nn::GRU>("gru_b64", settings); }
std::vector<Job> lstm_step(const RunSettings& settings) { return words_step<nn::LSTM>("lstm_b64", settings); }

std::vector<Job> ragged_step(const RunSettings& settings) {
  constexpr std::int64_t batch = 64, words = 150, least = 15, vocabulary = 30000;
  struct Batch {
    Tensor words, lengths, classes;
  };
  struct State {
    nn::Embedding embedding{vocabulary, 125};
    nn::GRU gru{125, 100};
    nn::Dense out{100, 2};
    std::vector<Parameter> parameters = nn::Sequential{embedding, gru, out}.trainable_parameters();
    std::shared_ptr<optim::Optimizer> optimizer = adam(1e-3);
    std::vector<Batch> batches;
    std::size_t next = 0;
    Step<Tensor(Tensor, Tensor, Tensor)> step;
  };
  seed(3);
  auto state = std::make_shared<State>();
  double steps = 0;  // of the first batch
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Tensor lengths = labels(batch, words - least + 1, 120 + i) + static_cast<std::int32_t>(least);
    if (i == 0) steps = sum(cast(lengths, DType::f32)).item();
    state->batches.push_back({reshape(labels(batch * words, vocabulary, 100 + i), {batch, words}), lengths, labels(batch, 2, 105 + i)});
  }
  state->step = compile(
      [s = state.get()](const Tensor& words, const Tensor& lengths, const Tensor& classes) {
        const nn::TrainingScope scope;
        const Tensor x = nn::with_mask(s->embedding(words), nn::sequence_mask(lengths, words.dim(1)));
        const Tensor loss = loss::sparse_categorical_crossentropy_from_logits(s->out(s->gru(x)), classes);
        s->optimizer->update(s->parameters, grad(loss, s->parameters));
        return loss;
      },
      {.name = "gru_ragged_b64", .mode = settings.mode, .threads = settings.threads}, Spec::batch(DType::i32, {Spec::any_length}),
      Spec::batch(DType::i32, {}), Spec::batch(DType::i32, {}));
  // Samples in order of their lengths, and no more steps than the longest has.
  const auto ordered = [](const Batch& of) {
    const std::vector<std::int32_t> lengths = of.lengths.to_vector<std::int32_t>();
    std::vector<std::int32_t> rows(lengths.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::sort(rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
      const std::int32_t x = lengths[static_cast<std::size_t>(a)], y = lengths[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    const Tensor order(rows, {batch});
    const Tensor words = slice(gather_rows(of.words, order), 1, 0, lengths[static_cast<std::size_t>(rows[0])]);
    return Batch{words, gather_rows(of.lengths, order), gather_rows(of.classes, order)};
  };
  const Batch first = ordered(state->batches[0]);
  show(settings, state->step, first.words, first.lengths, first.classes);
  Job job;
  job.products = [steps] { return 6 * (of_inputs(steps, 125, 100, 3) + of_states(steps, 100, 3) + batch * 100 * 2); };
  job.call = [state, ordered] {
    const Batch one = ordered(state->batches[state->next++ % state->batches.size()]);
    state->step(one.words, one.lengths, one.classes);
  };
  return {job};
}

std::vector<Job> bidirectional_step(const RunSettings& settings) {
  constexpr std::int64_t batch = 32, steps = 140;
  seed(3);
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 4; ++i) batches.push_back({uniform({batch, steps, 30}, 0, 1, 110 + i), labels(batch, 2, 115 + i)});
  return training("bilstm512_b32",
                  nn::share(nn::Sequential{nn::Bidirectional(nn::LSTM(30, 512, {.return_sequences = true})), nn::LSTM(1024, 512), nn::Dense(512, 1)}),
                  loss::binary_crossentropy_from_logits, adam(1e-4), std::move(batches), settings);
}

std::vector<Job> question_step(const RunSettings& settings) {
  constexpr std::int64_t batch = 32, steps = 400, channels = 16, width = 400, stride = 4, places = steps / stride;
  using enum nn::Activation;
  double taps = 0;  // of the convolution that meet data
  constexpr std::int64_t before = ((places - 1) * stride + width - steps) / 2;
  for (std::int64_t place = 0; place < places; ++place)
    taps += static_cast<double>(std::min(place * stride - before + width, steps) - std::max<std::int64_t>(place * stride - before, 0));
  seed(3);
  const nn::RecurrentOptions options{.activation = relu, .return_sequences = true};
  std::vector<Job> jobs = training("lstm_question",
                                   nn::share(nn::Sequential{nn::Bidirectional(nn::LSTM(channels, 512, options)), nn::LSTM(1024, 512, options),
                                                            nn::Conv1D(512, 128, width, none, {.strides = {stride}, .padding = Padding::same()}),
                                                            nn::Flatten(), nn::Dense(places * 128, 256, relu), nn::Dropout(0.5),
                                                            nn::Dense(256, 128, relu), nn::Dense(128, 64, relu), nn::Dense(64, 1)}),
                                   loss::binary_crossentropy_from_logits, adam(1e-4),
                                   {{uniform({batch, steps, channels}, -1.7, 1.7, 120), labels(batch, 2, 121)}}, settings);
  jobs[0].products = [taps] {
    return batch * (4 * 2 * of_inputs(steps, channels, 512, 4) + 6 * (3 * of_states(steps, 512, 4) + of_inputs(steps, 1024, 512, 4) +
                                                                      taps * 512 * 128 + places * 128 * 256 + 256 * 128 + 128 * 64 + 64));
  };
  return jobs;
}

std::vector<Job> gru_stream(const RunSettings& settings) {
  struct State {
    nn::GRU cell{125, 100};
    Parameter state{"state", Tensor::zeros({DType::f32, {1, 100}})};
    Step<Tensor(Tensor)> step;
    std::vector<float> in = std::vector<float>(125, 0.5f), out = std::vector<float>(100);
  };
  seed(3);
  auto state = std::make_shared<State>();
  state->step = compile(
      [s = state.get()](const Tensor& x) {
        const std::vector<Tensor> before{s->state};
        const Tensor after = s->cell.step(x, before)[0];
        s->state.assign(after);
        return after;
      },
      {.name = "gru_stream", .mode = settings.mode, .threads = settings.threads, .kinds = {InputKind::fixed}});
  show(settings, state->step, Tensor(state->in, {1, 125}));
  Job job;
  job.metric = "call_us";
  job.unit = "us";
  job.scale = 1e6;
  job.products = [] { return 2 * (of_inputs(1, 125, 100, 3) + of_states(1, 100, 3)); };
  job.call = [state] { state->step.predict_one(state->in, state->out); };
  return {job};
}

}  // namespace sinter::bench
