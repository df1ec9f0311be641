#include "frontend/serve/served_model.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "frontend/core/counted.h"
#include "frontend/core/trace.h"
#include "ir/layout.h"

namespace sinter::serve {

namespace {

/// A graph of one input f32[N, ...] and one output f32[N, ...], with numbers in place of the dots.
bool is_served(const Type& type) {
  const Shape& shape = type.shape;
  if (type.dtype != DType::f32 || shape.rank() < 2 || shape[0] != Dim::batch()) return false;
  return std::all_of(shape.begin() + 1, shape.end(), [](Dim dim) { return dim.is_fixed() && dim.factor() > 0; });
}

std::int64_t numbers_of(const Type& type) { return type.shape.at(1).elements().factor(); }

/// In memory that no file has.
Tensor copy_of(const Tensor& value) {
  runtime::Buffer own = runtime::Buffer::allocate(value.buffer().bytes());
  std::memcpy(own.data(), value.buffer().data(), value.buffer().bytes());
  return value.is_unpadded() ? Tensor::unpadded(value.type(), std::move(own)) : Tensor(value.type(), std::move(own));
}

void require_served(const Traced& traced, const std::string& where) {
  const ir::Graph& graph = traced.graph;
  const std::size_t inputs = graph.inputs().size() - traced.captured.size(), outputs = graph.outputs().size();
  if (inputs != 1 || outputs != 1)
    throw UserError(where, str("a scorer serves models of one input and one output, this one has ", inputs, " and ", outputs,
                               "; use a clone of Trainer::predict_step for each thread"));
  const Type &in = graph.inputs()[0].type, &out = graph.node(graph.outputs()[0]).type;
  if (!is_served(in) || !is_served(out))
    throw UserError(where, str("a scorer serves models from f32[N, numbers...] to f32[N, numbers...], this one is from ", in, " to ", out));
}

data::Encoder encoder_of(const Trainer& trainer, const std::string& where) {
  try {
    return data::Encoder::from_json(trainer.metadata("encoder"));
  } catch (const UserError&) {
    rethrow_at(where, "");
  }
}

/// The classes that the model tells apart; none for a model of numbers.
std::vector<std::string> classes_of(const Trainer& trainer, const std::optional<data::Encoder>& encoder, const Type& out) {
  if (encoder && encoder->has_target()) return encoder->is_classification() ? encoder->classes() : std::vector<std::string>{};
  if (!trainer.has_metadata("task") || trainer.metadata("task") != "classes" || out.shape.rank() != 2) return {};
  std::vector<std::string> result;
  for (std::int64_t c = 0; c < std::max<std::int64_t>(2, numbers_of(out)); ++c) result.push_back(std::to_string(c));  // one output tells two apart
  return result;
}

/// Makes probabilities of the classes the output: of logits or, where the model ends in softmax or sigmoid, of those; of one output, which is of the
/// second class, both.
void add_probabilities(ir::Graph& graph) {
  ir::Value y = graph.value(graph.outputs()[0]);
  const bool is_single = y.shape()[1] == Dim(1);
  const std::string_view last = ir::name(graph.node(y.id).op);
  if (last != (is_single ? "sigmoid" : "softmax")) y = is_single ? graph.add(ir::Sigmoid{}, {y}) : graph.add(ir::Softmax{}, {y});
  if (is_single) y = graph.add(ir::Concat{1}, {1.0 - y, y});
  graph.set_outputs({y.id});
}

/// Of a model that reproduces its samples, makes its error the output: the mean of the squared differences between the numbers of a sample and those
/// that it makes of them.
void add_error(ir::Graph& graph, const std::string& where) {
  const ir::Value x = graph.value(graph.input_node(0)), y = graph.value(graph.outputs()[0]);
  const std::int64_t numbers = numbers_of(x.type());
  if (numbers_of(y.type()) != numbers)
    throw UserError(where, str("reproduces its samples, by the entry 'task', but makes ", y.type(), " of ", x.type()));
  const Shape flat{Dim::batch(), numbers};
  const ir::Value squares = square(reshape(y, flat) - reshape(x, flat));
  graph.set_outputs({reshape(sum(squares, 1, 2) / static_cast<double>(numbers), {Dim::batch(), 1}).id});
}

void require_encoder_fits(const data::Encoder& encoder, const ir::Graph& graph, const std::string& where) {
  const Type &in = graph.inputs()[0].type, &out = graph.node(graph.outputs()[0]).type;
  const std::int64_t outputs = numbers_of(out);
  const std::int64_t wanted = encoder.is_classification() ? static_cast<std::int64_t>(encoder.classes().size()) : 1;
  const bool fits = in.shape == Shape{Dim::batch(), encoder.width()} && out.shape.rank() == 2 &&
                    (!encoder.has_target() || outputs == wanted || (outputs == 1 && wanted == 2));
  if (!fits)
    throw UserError(where, str("its encoder makes ", counted(encoder.width(), "number"), " of a record and names ", counted(wanted, "output"),
                               ", but the model is from ", in, " to ", out, "; save the encoder of the data that it was trained on"));
}

}  // namespace

/// A step for one caller at a time, and its input.
struct Lane {
  std::shared_ptr<StepCore> step;
  runtime::Buffer input;
};

/// Lanes that nobody uses now; more are made as they are needed.
class ServedModel::Pool {
 public:
  Pool(Traced traced, StepOptions options)
      : sample_(traced.graph.inputs()[0].type.shape), original_(std::make_shared<StepCore>(std::move(traced), std::move(options))) {
    const Tensor x = Tensor::zeros({DType::f32, sample_.at(1)});
    const Tensor* in = &x;
    (void)original_->call({&in, 1});  // compiles it
  }

  void run(std::int64_t rows, std::span<const float> in, std::span<float> out) {
    const Loan loan(*this);
    Lane& lane = *loan.lane;
    const Type type{DType::f32, sample_.at(rows)};
    const bool unpadded = rests_unpadded(type.shape);
    const std::size_t bytes = runtime::storage_bytes(type, {}, unpadded);
    if (!lane.input.unique() || lane.input.bytes() < bytes) lane.input = runtime::Buffer::zeroed(bytes);
    const Tensor x = unpadded ? Tensor::unpadded(type, lane.input) : Tensor(type, lane.input);
    runtime::copy_from_dense(in.data(), x.view());
    const Tensor* input = &x;
    Tensor result;
    lane.step->call({&input, 1}, {&result, 1});
    runtime::copy_to_dense(result.view(), out.data());
  }

 private:
  struct Loan {
    explicit Loan(Pool& of) : pool(of), lane(of.take()) {}
    ~Loan() { pool.give(std::move(lane)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Pool& pool;
    std::unique_ptr<Lane> lane;
  };

  std::unique_ptr<Lane> take() {
    {
      const std::lock_guard lock(changing_);
      if (!idle_.empty()) {
        std::unique_ptr<Lane> lane = std::move(idle_.back());
        idle_.pop_back();
        return lane;
      }
      idle_.reserve(++lanes_);  // so that give() has room
    }
    return std::make_unique<Lane>(original_->clone());
  }
  void give(std::unique_ptr<Lane> lane) {
    const std::lock_guard lock(changing_);
    idle_.push_back(std::move(lane));
  }

  Shape sample_;                        ///< [N, ...]
  std::shared_ptr<StepCore> original_;  ///< is cloned, and not called
  std::mutex changing_;
  std::size_t lanes_ = 0;
  std::vector<std::unique_ptr<Lane>> idle_;
};

ServedModel::ServedModel(Trainer& trainer, const std::string& where, std::int64_t generation, const ScorerOptions& options)
    : generation_(generation) {
  if (options.threads < 0) throw UserError("scorer", str("threads must not be negative, got ", options.threads, "; 0 means as many as are worth it"));
  Traced traced = trainer.recorded_predictions();
  for (Tensor& constant : traced.captured) constant = copy_of(constant);
  require_served(traced, where);
  if (trainer.has_metadata("encoder")) {
    encoder_ = encoder_of(trainer, where);
    require_encoder_fits(*encoder_, traced.graph, where);
    if (encoder_->has_target() && !encoder_->is_classification()) unit_ = encoder_->target_unit(), offset_ = encoder_->unscaled(0);
  }
  classes_ = classes_of(trainer, encoder_, traced.graph.node(traced.graph.outputs()[0]).type);
  if (!classes_.empty()) add_probabilities(traced.graph);
  if (trainer.has_metadata("task") && trainer.metadata("task") == "self") add_error(traced.graph, where);
  inputs_ = numbers_of(traced.graph.inputs()[0].type);
  outputs_ = numbers_of(traced.graph.node(traced.graph.outputs()[0]).type);
  pool_ = std::make_unique<Pool>(
      std::move(traced),
      StepOptions{.name = "score", .mode = options.mode, .threads = options.threads, .kinds = {InputKind::batch}, .log = options.log});
}

ServedModel::~ServedModel() = default;

void ServedModel::score(std::span<const float> in, std::span<float> out) const {
  if (static_cast<std::int64_t>(in.size()) != inputs_ || static_cast<std::int64_t>(out.size()) != outputs_)
    throw UserError("scorer",
                    str("a sample has ", counted(inputs_, "number"), " and a result ", outputs_, ", got room for ", in.size(), " and ", out.size()));
  pool_->run(1, in, out);
}

void ServedModel::score_rows(std::span<const float> in, std::span<float> out) const {
  const std::int64_t rows = static_cast<std::int64_t>(in.size()) / inputs_;
  if (static_cast<std::int64_t>(in.size()) != rows * inputs_ || static_cast<std::int64_t>(out.size()) != rows * outputs_)
    throw UserError("scorer", str("rows are of ", counted(inputs_, "number"), " and their results of ", outputs_, ", got ", in.size(), " and ",
                                  out.size(), " numbers"));
  if (rows) pool_->run(rows, in, out);
}

}  // namespace sinter::serve
