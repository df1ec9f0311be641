#include "frontend/nn/recurrent.h"

#include "frontend/core/counted.h"
#include "frontend/core/scan.h"
#include "frontend/nn/affine.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/weight_settings.h"

namespace sinter::nn {

namespace {

/// Options of another layer have no effect: they keep their defaults.
void require_defaults(const std::string& layer, const RecurrentOptions& options, bool reset_after, bool unit_forget_bias) {
  if (reset_after && !options.reset_after) throw UserError(layer, "reset_after is an option of GRU");
  if (unit_forget_bias && !options.unit_forget_bias) throw UserError(layer, "unit_forget_bias is an option of LSTM");
}

RecurrentOptions turned(RecurrentOptions options) {
  options.reverse = !options.reverse;
  return options;
}

}  // namespace

Recurrent::Recurrent(std::string kind, std::int64_t inputs, std::int64_t units, std::size_t states, std::int64_t gates,
                     const RecurrentOptions& options, const Initializer& initial_bias)
    : Module(std::move(kind)), inputs_(inputs), units_(units), states_(states), options_(options) {
  if (inputs < 1 || units < 1) throw UserError(this->kind(), str("needs at least 1 input and 1 unit, got ", inputs, " and ", units));
  require_rate(this->kind().c_str(), options.dropout);
  require_rate(this->kind().c_str(), options.recurrent_dropout);
  weight = add("weight", options.weight({inputs, gates * units}), options.penalty);
  recurrent_weight = add("recurrent_weight", options.recurrent_weight({units, gates * units}), options.recurrent_penalty);
  if (options.use_bias) bias = add("bias", initial_bias({gates * units}));
  if (options.dropout == 0 && options.recurrent_dropout == 0) return;
  stream_ = init::next_stream();
  recurrent_stream_ = init::next_stream();
  draws_ = add_state("draws", Tensor::zeros({DType::u32, {}}));
}

void Recurrent::check(const Tensor& x, std::size_t rank) const {
  const char* form = rank == 3 ? "[N, T, " : "[N, ";
  if (x.rank() != rank) throw UserError(label(), str("input must be ", form, inputs_, "], got ", x.type(), rank == 3 ? "; reshape it" : ""));
  if (x.dim(-1) != Dim(inputs_)) throw UserError(label(), str("input has ", x.dim(-1), " features but the layer was built for ", inputs_));
}

Tensor Recurrent::gate(const Tensor& all, std::int64_t gate) const { return slice(all, 1, gate * units_, (gate + 1) * units_); }

Tensor Recurrent::forward(const Tensor& x) { return forward_all({&x, 1}).front(); }

std::vector<Tensor> Recurrent::forward_all(std::span<const Tensor> in) {
  if (in.size() != 1 && in.size() != 1 + states_)
    throw UserError(label(), str("takes x, or x and ", counted(states_, "state"), ", got ", counted(in.size(), "tensor")));
  Tensor x = in[0];
  check(x, 3);
  const Tensor mask = mask_of(x);
  const Dim samples = x.dim(0);
  std::vector<Tensor> states(in.begin() + 1, in.end());
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i].type() != Type{DType::f32, {samples, units_}})
      throw UserError(label(), str("state ", i, " must be ", Type{DType::f32, {samples, units_}}, ", got ", states[i].type()));
  while (states.size() < states_) states.push_back(broadcast_to(Tensor(0.0f), {samples, units_}));
  const bool trains = is_training();
  if (options_.dropout > 0 || options_.recurrent_dropout > 0) note_not_training();
  if (trains && options_.dropout > 0) x = drop(x, {samples, 1, inputs_}, draws_, stream_, options_.dropout);
  Tensor kept;  // what is kept of the output of the step before, divided by its probability
  if (trains && options_.recurrent_dropout > 0)
    kept = drop(broadcast_to(Tensor(1.0f), {samples, units_}), {samples, units_}, draws_, recurrent_stream_, options_.recurrent_dropout);
  const ScanFunction step = [&](std::span<const Tensor> before, std::span<const Tensor> elements) {
    std::vector<Tensor> after = next(elements[0], kept.defined() ? before[0] * kept : before[0], before);
    for (std::size_t i = 0; mask.defined() && i < after.size(); ++i) after[i] = where(elements[1], after[i], before[i]);
    std::vector<Tensor> outputs;
    if (options_.return_sequences) outputs.push_back(after[0]);
    return ScanStep(std::move(after), std::move(outputs));
  };
  std::vector<Tensor> sequences{affine(x, weight, bias)};
  if (mask.defined()) sequences.push_back(reshape(mask, {samples, mask.dim(1), 1}));
  Scanned scanned = scan(step, states, sequences, {.reverse = options_.reverse});
  std::vector<Tensor> results{scanned.carries[0]};
  if (options_.return_sequences) results[0] = mask.defined() ? with_mask(scanned.outputs[0], mask) : scanned.outputs[0];
  if (options_.return_state) results.insert(results.end(), scanned.carries.begin(), scanned.carries.end());
  return results;
}

std::vector<Tensor> Recurrent::step(const Tensor& x, std::span<const Tensor> states) {
  check(x, 2);
  if (states.size() != states_) throw UserError(label(), str("a step takes ", counted(states_, "state"), ", got ", states.size()));
  return next(affine(x, weight, bias), states[0], states);
}

std::vector<Setting> Recurrent::settings() const {
  std::vector<Setting> list{{"activation", std::string(nn::name(options_.activation))},
                            {"return_sequences", options_.return_sequences},
                            {"return_state", options_.return_state},
                            {"reverse", options_.reverse},
                            {"dropout", options_.dropout},
                            {"recurrent_dropout", options_.recurrent_dropout}};
  add_weight_settings(list, options_);
  list.emplace_back("recurrent_weight", init::name_of(options_.recurrent_weight));
  add_penalty_settings(list, options_.recurrent_penalty, "recurrent ");
  return list;
}

namespace {
std::vector<Setting> with_gates(std::vector<Setting> list, const RecurrentOptions& options) {
  list.insert(list.begin() + 1, {"recurrent_activation", std::string(nn::name(options.recurrent_activation))});
  return list;
}
}  // namespace

std::vector<Setting> GRU::settings() const {
  std::vector<Setting> list = with_gates(Recurrent::settings(), options());
  list.emplace_back("reset_after", options().reset_after);
  return list;
}

std::vector<Setting> LSTM::settings() const {
  std::vector<Setting> list = with_gates(Recurrent::settings(), options());
  list.emplace_back("unit_forget_bias", options().unit_forget_bias);
  return list;
}

std::vector<Setting> Bidirectional::settings() const {
  constexpr const char* names[] = {"concat", "sum", "mean", "product"};
  return {{"merge", names[static_cast<std::size_t>(merge_)]}};
}

SimpleRNN::SimpleRNN(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options)
    : Recurrent("simple_rnn", inputs, units, 1, 1, options, options.bias) {
  require_defaults(label(), options, true, true);
}

std::shared_ptr<Recurrent> SimpleRNN::reversed() const { return std::make_shared<SimpleRNN>(inputs(), units(), turned(options())); }

std::vector<Tensor> SimpleRNN::next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor>) {
  return {activate(options().activation, projected + matmul(recurrent, recurrent_weight))};
}

GRU::GRU(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options) : Recurrent("gru", inputs, units, 1, 3, options, options.bias) {
  require_defaults(label(), options, false, true);
  if (options.use_bias && options.reset_after) recurrent_bias = add("recurrent_bias", options.bias({3 * units}));
}

std::shared_ptr<Recurrent> GRU::reversed() const { return std::make_shared<GRU>(inputs(), units(), turned(options())); }

std::vector<Tensor> GRU::next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) {
  const auto [activation, gate_activation] = std::pair(options().activation, options().recurrent_activation);
  const std::int64_t n = units();
  const Tensor weight_of_all = recurrent_weight;
  const Tensor product = matmul(recurrent, options().reset_after ? weight_of_all : slice(weight_of_all, 1, 0, 2 * n));
  const Tensor all = recurrent_bias.defined() ? product + recurrent_bias : product;
  const Tensor z = activate(gate_activation, gate(projected, 0) + gate(all, 0)), r = activate(gate_activation, gate(projected, 1) + gate(all, 1));
  const Tensor reset = options().reset_after ? r * gate(all, 2) : matmul(r * recurrent, slice(weight_of_all, 1, 2 * n, 3 * n));
  return {z * states[0] + (1 - z) * activate(activation, gate(projected, 2) + reset)};
}

namespace {

/// That of the options, but ones for the forget gate.
Initializer with_forget_bias(const RecurrentOptions& options, std::int64_t units) {
  if (!options.unit_forget_bias) return options.bias;
  return [=](const Shape&) { return concat({options.bias({units}), init::ones()({units}), options.bias({2 * units})}); };
}

}  // namespace

LSTM::LSTM(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options)
    : Recurrent("lstm", inputs, units, 2, 4, options, with_forget_bias(options, units)) {
  require_defaults(label(), options, true, false);
}

std::shared_ptr<Recurrent> LSTM::reversed() const { return std::make_shared<LSTM>(inputs(), units(), turned(options())); }

std::vector<Tensor> LSTM::next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) {
  const auto [activation, gate_activation] = std::pair(options().activation, options().recurrent_activation);
  const Tensor all = projected + matmul(recurrent, recurrent_weight);
  const Tensor i = activate(gate_activation, gate(all, 0)), f = activate(gate_activation, gate(all, 1)),
               c = f * states[1] + i * activate(activation, gate(all, 2)), o = activate(gate_activation, gate(all, 3));
  return {o * activate(activation, c), c};
}

Bidirectional::Bidirectional(std::shared_ptr<Recurrent> forward, std::shared_ptr<Recurrent> backward, Merge merge)
    : Module("bidirectional"), forward_(std::move(forward)), backward_(std::move(backward)), merge_(merge) {
  if (!forward_ || !backward_) throw UserError(label(), "needs two layers, got a null pointer");
  const RecurrentOptions &a = forward_->options(), &b = backward_->options();
  if (a.reverse || !b.reverse)
    throw UserError(label(), "its first layer runs forwards and its second backwards; give the second alone .reverse = true");
  if (a.return_sequences != b.return_sequences || a.return_state != b.return_state)
    throw UserError(label(), "its layers return different things; give both the same return_sequences and return_state");
  if (merge != Merge::concat && forward_->units() != backward_->units())
    throw UserError(label(), str("its layers have ", forward_->units(), " and ", backward_->units(), " units, which only Merge::concat can merge"));
  add(*forward_);
  add(*backward_);
}

Tensor Bidirectional::forward(const Tensor& x) { return forward_all({&x, 1}).front(); }

std::vector<Tensor> Bidirectional::forward_all(std::span<const Tensor> in) {
  const std::size_t first = forward_->state_count(), states = first + backward_->state_count();
  if (in.size() != 1 && in.size() != 1 + states)
    throw UserError(label(), str("takes x, or x and ", counted(states, "state"), ", got ", counted(in.size(), "tensor")));
  const auto of = [&](std::size_t begin, std::size_t count) {
    std::vector<Tensor> inputs{in[0]};
    if (in.size() > 1)
      inputs.insert(inputs.end(), in.begin() + static_cast<std::ptrdiff_t>(1 + begin), in.begin() + static_cast<std::ptrdiff_t>(1 + begin + count));
    return inputs;
  };
  std::vector<Tensor> results = forward_->call_all(of(0, first));
  const std::vector<Tensor> backward = backward_->call_all(of(first, states - first));
  const Tensor a = results[0], &b = backward[0];
  switch (merge_) {
    case Merge::concat:
      results[0] = concat({a, b}, -1);
      break;
    case Merge::sum:
      results[0] = a + b;
      break;
    case Merge::mean:
      results[0] = (a + b) / 2;
      break;
    case Merge::product:
      results[0] = a * b;
      break;
  }
  if (a.mask()) results[0] = Tensor(results[0], a.mask());
  results.insert(results.end(), backward.begin() + 1, backward.end());
  return results;
}

}  // namespace sinter::nn
