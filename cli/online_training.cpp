#include "cli/online_training.h"

#include <sinter/graph.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "cli/words.h"

namespace sinter::cli {

namespace {

const data::Encoder& checked_encoder(const serve::Scorer& scorer, const std::string& path) {
  const auto& encoder = scorer.model()->encoder();
  if (!encoder || !encoder->has_target())
    throw UserError(path,
                    "does not say how the target of a record is read; --train needs a model that sinter train made from a table, or one with "
                    "metadata \"encoder\" of an Encoder with a target");
  return *encoder;
}

/// A field as the text of a table. Numbers are as exact as they came.
std::string text_of(const data::Field& field) {
  if (const auto* text = std::get_if<std::string_view>(&field)) return std::string(*text);
  const double number = std::get<double>(field);
  if (std::isnan(number)) return "";
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

}  // namespace

OnlineTraining::OnlineTraining(const std::string& path, serve::Scorer& scorer, ModelFolder& folder, const OnlineTrainingSettings& settings)
    : settings_(settings),
      trainer_(Trainer::load(path, {.log = warn_on_stderr})),
      scorer_(scorer),
      folder_(folder),
      encoder_(checked_encoder(scorer, path)),
      width_(static_cast<std::size_t>(encoder_.width())) {
  name_columns();
  at(path, [&] { read_target_type(); });
  if (settings_.learning_rate) trainer_.set_learning_rate(static_cast<float>(*settings_.learning_rate));
}

OnlineTraining::~OnlineTraining() = default;

void OnlineTraining::name_columns() {
  const std::string& target = encoder_.target_name();
  const std::string label = settings_.labels.empty() ? target : settings_.labels;
  std::vector<std::string> in_records = settings_.format.columns, in_table;
  if (in_records.empty()) {
    in_records = encoder_.columns_read();
    const auto add = [&](const std::string& name) {
      if (std::find(in_records.begin(), in_records.end(), name) == in_records.end()) in_records.push_back(name);
    };
    for (const data::Condition& condition : encoder_.train_on()) add(condition.column);
    add(target);
    std::replace(in_records.begin(), in_records.end(), target, label);
  }
  in_table = in_records;
  label_ = static_cast<std::size_t>(std::find(in_records.begin(), in_records.end(), label) - in_records.begin());
  if (label_ == in_records.size())
    throw UserError("--labels", str("there is no column '", printable(label), "' in --columns", nearest_hint(label, in_records)));
  in_table[label_] = target;
  records_.emplace(encoder_, in_table);
  std::vector<std::string> texts;  // columns whose numbers are names
  for (std::size_t c = 0; c < in_table.size(); ++c) {
    const auto is_numbers = [&](const data::ColumnSummary& column) { return column.name == in_table[c] && !column.categorical; };
    const bool is_text =
        c == label_ ? encoder_.is_classification() : std::none_of(records_->summary().begin(), records_->summary().end(), is_numbers);
    if (is_text) texts.push_back(in_records[c]);
  }
  reader_ = serve::record_reader(settings_.format, in_records, texts);
}

void OnlineTraining::read_target_type() {
  const std::span<const ir::InputSpec> inputs = trainer_.train_step().traced_graph().inputs();
  const Type type = inputs.size() > 1 ? inputs[1].type : Type{};
  const std::size_t classes = encoder_.is_classification() ? encoder_.classes().size() : 0;
  const bool has_columns = type.dtype == DType::f32 && type.shape.rank() == 2 && type.shape[1].is_fixed();
  target_width_ = has_columns ? static_cast<std::size_t>(type.shape[1].factor()) : 1;
  if (classes && is_index(type.dtype) && type.shape.rank() == 1) target_ = Target::classes;
  else if (has_columns && target_width_ == 1 && classes <= 2) target_ = Target::numbers;
  else if (has_columns && classes && target_width_ == classes) target_ = Target::one_hot;
  else
    throw UserError(str("is trained on targets ", type, ", but records have ", classes ? str("one of ", classes, " classes") : "a number", " each"));
}

bool OnlineTraining::take_target(std::span<const data::Field> fields) {
  data::Table record(records_->columns());
  for (const data::Field& field : fields) record.add_field(text_of(field));
  record.end_row();
  if (encoder_.training_rows(record).empty()) return false;
  const Tensor target = encoder_.target(record);
  if (target_ == Target::classes) {
    classes_.push_back(target.to_vector<std::int32_t>().front());
  } else if (!encoder_.is_classification()) {
    numbers_.push_back(target.to_vector<float>().front());
  } else {
    const auto number = static_cast<std::size_t>(target.to_vector<std::int32_t>().front());
    if (target_ == Target::numbers) numbers_.push_back(static_cast<float>(number));
    else
      for (std::size_t c = 0; c < target_width_; ++c) numbers_.push_back(c == number ? 1.0f : 0.0f);
  }
  return true;
}

void OnlineTraining::add(std::string_view record) {
  features_.resize((rows_ + 1) * width_);
  std::span<const data::Field> fields;
  try {
    fields = reader_->read(record);
    if (text_of(fields[label_]).empty()) return;
    if (!records_->encode(fields, std::span(features_).last(width_))) return;
  } catch (const UserError&) {
    return;  // the record was answered by this error
  }
  try {
    if (!take_target(fields)) return;
  } catch (const UserError& error) {
    if (!bad_labels_++) warn_on_stderr(str("a record cannot be learnt from, as its label is bad: ", error.message(), "; further ones are counted"));
    return;
  }
  if (++rows_ == static_cast<std::size_t>(settings_.batch_size)) step();
}

void OnlineTraining::step() {
  const auto rows = static_cast<std::int64_t>(rows_);
  features_.resize(rows_ * width_);
  const Tensor x(features_, {rows, static_cast<std::int64_t>(width_)});
  const Tensor y = target_ == Target::classes ? Tensor(classes_, {rows}) : Tensor(numbers_, {rows, static_cast<std::int64_t>(target_width_)});
  labelled_ += rows;
  forget();
  ++steps_;
  if (const double loss = trainer_.train_on_batch(x, y); !std::isfinite(loss))
    throw UserError("--train", str("the loss of step ", steps(), " is ", loss, "; lower --learning-rate, now ", trainer_.learning_rate(),
                                   ". The checkpoints before stay, and records since then are read again"));
}

std::size_t OnlineTraining::room() const {
  const std::int64_t records = (settings_.publish_every - steps_) * settings_.batch_size - static_cast<std::int64_t>(rows_);
  return static_cast<std::size_t>(std::max<std::int64_t>(1, records));
}

void OnlineTraining::forget() {
  rows_ = 0;
  classes_.clear();
  numbers_.clear();
}

void OnlineTraining::publish() {
  if (rows_) step();
  if (!steps_) return;
  require_finite();
  scorer_.swap(folder_.write(trainer_, std::exchange(steps_, 0)));
}

void OnlineTraining::require_finite() {
  for (const Parameter& p : trainer_.parameters()) {
    if (p.type().dtype != DType::f32) continue;
    for (const float x : p.read().to_vector<float>())
      if (!std::isfinite(x))
        throw UserError("--train", str("the parameter '", p.name(), "' holds ", x, " after step ", steps(), "; lower --learning-rate, now ",
                                       trainer_.learning_rate(), ". The checkpoints before stay, and records since then are read again"));
  }
}

}  // namespace sinter::cli
