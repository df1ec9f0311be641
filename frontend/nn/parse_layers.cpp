#include "frontend/nn/parse_layers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "frontend/core/nearest.h"
#include "frontend/core/trace.h"
#include "frontend/nn/activation_layer.h"
#include "frontend/nn/convolution.h"
#include "frontend/nn/dense.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/embedding.h"
#include "frontend/nn/normalization.h"
#include "frontend/nn/pool.h"
#include "frontend/nn/recurrent.h"
#include "frontend/nn/shape.h"
#include "ir/printable.h"

namespace sinter::nn {

namespace {

constexpr std::string_view space = " \t\r\n";

/// A layer as it is written: its name, the words behind it, and which of these have been read.
class Written {
 public:
  explicit Written(std::string_view text) {
    for (std::size_t at = text.find_first_not_of(space); at != text.npos; at = text.find_first_not_of(space, at)) {
      const std::size_t end = std::min(text.find_first_of(space, at), text.size());
      const std::string_view word = text.substr(at, end - at);
      if (const std::size_t equals = word.find('='); equals != word.npos) add_option(std::string(word.substr(0, equals)), word.substr(equals + 1));
      else words_.emplace_back(word);
      at = end;
    }
    if (!words_.empty()) name_ = take(0);
  }

  const std::string& name() const { return name_; }

  /// The next number among the words.
  std::optional<double> number() {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (const std::optional<double> number = number_of(words_[i])) return take(i), number;
    return std::nullopt;
  }
  double number(const char* what) {
    if (const std::optional<double> number = this->number()) return *number;
    throw UserError(name_, str("needs ", what, ", as in '", name_, " 8'"));
  }
  std::int64_t whole(const char* what) { return whole_of(number(what), what); }
  /// The number, if it is whole and at least 1.
  std::int64_t whole_of(double value, const char* what) const {
    constexpr double most = 1e9;
    if (value != std::floor(value) || value < 1 || value > most)
      throw UserError(name_, str(what, " must be a whole number from 1 to ", most, ", got ", value));
    return static_cast<std::int64_t>(value);
  }
  /// Whether it has this word.
  bool has(std::string_view word) {
    const auto found = std::find(words_.begin(), words_.end(), word);
    if (found == words_.end()) return false;
    words_.erase(found);
    return true;
  }
  /// The activation among the words.
  Activation activation(Activation otherwise = Activation::none) {
    if (words_.empty()) return otherwise;
    const Activation found = parse_activation(words_[0]);
    take(0);
    return found;
  }
  std::optional<std::string> option(const std::string& name) {
    known_.push_back(name);
    const auto found = options_.find(name);
    if (found == options_.end()) return std::nullopt;
    std::string value = std::move(found->second);
    options_.erase(found);
    return value;
  }
  std::optional<double> number_option(const std::string& name) {
    const std::optional<std::string> value = option(name);
    if (!value) return std::nullopt;
    if (const std::optional<double> number = number_of(*value)) return number;
    throw UserError(name_, str(name, " must be a number, got '", printable(*value), "'"));
  }
  std::optional<std::int64_t> whole_option(const std::string& name) {
    const std::optional<double> value = number_option(name);
    return value ? std::optional(whole_of(*value, name.c_str())) : std::nullopt;
  }
  std::optional<Padding> padding() {
    const std::optional<std::string> value = option("padding");
    if (!value) return std::nullopt;
    if (*value == "valid") return Padding::valid();
    if (*value == "same") return Padding::same();
    if (*value == "causal") return Padding::causal();
    throw UserError(name_, str("padding must be valid, same or causal, got '", printable(*value), "'"));
  }
  /// Throws UserError for what nothing has read.
  void finish() const {
    if (!words_.empty()) throw UserError(name_, str("does not take '", printable(words_[0]), "'"));
    if (!options_.empty()) {
      const std::string& first = options_.begin()->first;
      throw UserError(name_, str("has no option '", printable(first), "'", nearest_hint(first, known_)));
    }
  }

 private:
  std::string take(std::size_t i) {
    std::string word = std::move(words_[i]);
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i));
    return word;
  }
  void add_option(std::string name, std::string_view value) {
    if (!options_.emplace(name, value).second) throw UserError("layers", str("the option '", printable(name), "' is given twice"));
  }
  static std::optional<double> number_of(const std::string& word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_number = error == std::errc{} && end == word.data() + word.size() && std::isfinite(value);
    return is_number ? std::optional(value) : std::nullopt;
  }

  std::string name_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
  std::vector<std::string> known_;  ///< options that were asked for
};

using Layer = std::shared_ptr<Module>;
using Make = std::function<Layer(Written& w, const Type& in, const ParseLayersOptions& options)>;

/// Throws UserError for an input of another rank.
void require_rank(const Written& w, const Type& in, std::initializer_list<std::size_t> ranks, const char* wanted) {
  if (std::find(ranks.begin(), ranks.end(), in.shape.rank()) == ranks.end()) throw UserError(w.name(), str("takes ", wanted, ", but gets ", in));
}

/// The extent of the last axis, which is fixed: features or channels.
std::int64_t features_of(const Written& w, const Type& in) {
  if (in.shape.rank() < 2 || !in.shape.back().is_fixed()) throw UserError(w.name(), str("takes samples of features, but gets ", in));
  return in.shape.back().factor();
}

Layer dense(Written& w, const Type& in, const ParseLayersOptions& options) {
  const std::int64_t units = w.whole("units");
  return std::make_shared<Dense>(features_of(w, in), units, w.activation(), DenseOptions{.weight = init::he_uniform(), .penalty = options.penalty});
}

ConvolutionOptions convolution_options(Written& w, const ParseLayersOptions& options) {
  ConvolutionOptions result{.penalty = options.penalty};
  if (const auto strides = w.whole_option("strides")) result.strides = {*strides};
  if (const auto dilations = w.whole_option("dilations")) result.dilations = {*dilations};
  if (const auto groups = w.whole_option("groups")) result.groups = *groups;
  if (const auto padding = w.padding()) result.padding = *padding;
  return result;
}

Layer conv(Written& w, const Type& in, const ParseLayersOptions& options) {
  require_rank(w, in, {3, 4}, "images [N, height, width, channels] or series [N, length, channels]");
  const std::int64_t features = w.whole("features"), size = w.whole("the size of its windows"), channels = features_of(w, in);
  const ConvolutionOptions with = convolution_options(w, options);
  if (in.shape.rank() == 3) return std::make_shared<Conv1D>(channels, features, size, w.activation(), with);
  return std::make_shared<Conv2D>(channels, features, std::vector{size}, w.activation(), with);
}

Layer conv_transpose(Written& w, const Type& in, const ParseLayersOptions& options) {
  require_rank(w, in, {4}, "images [N, height, width, channels]");
  const std::int64_t features = w.whole("features"), size = w.whole("the size of its windows");
  const ConvolutionOptions with = convolution_options(w, options);
  return std::make_shared<Conv2DTranspose>(features_of(w, in), features, std::vector{size}, w.activation(), with);
}

Layer pool(Written& w, const Type& in, const ParseLayersOptions&) {
  require_rank(w, in, {3, 4}, "images [N, height, width, channels] or series [N, length, channels]");
  const std::int64_t size = w.whole("the size of its windows");
  PoolOptions with;
  if (const auto strides = w.whole_option("strides")) with.strides = {*strides};
  if (const auto padding = w.padding()) with.padding = *padding;
  const bool average = w.has("average");
  if (!average) (void)w.has("max");
  if (in.shape.rank() == 3) return average ? Layer(std::make_shared<AveragePool1D>(size, with)) : std::make_shared<MaxPool1D>(size, with);
  return average ? Layer(std::make_shared<AveragePool2D>(std::vector{size}, with)) : std::make_shared<MaxPool2D>(std::vector{size}, with);
}

/// One whole number, or one for each of two axes.
std::vector<std::int64_t> one_or_two(Written& w, const char* what) {
  std::vector<std::int64_t> numbers{w.whole(what)};
  if (const std::optional<double> second = w.number()) numbers.push_back(w.whole_of(*second, what));
  return numbers;
}

Layer adaptive_pool(Written& w, const Type& in, const ParseLayersOptions&) {
  require_rank(w, in, {3, 4}, "images [N, height, width, channels] or series [N, length, channels]");
  const std::vector<std::int64_t> out = one_or_two(w, "the extent of the result");
  const bool is_max = w.has("max");
  if (!is_max) (void)w.has("average");
  if (in.shape.rank() == 4) return is_max ? Layer(std::make_shared<AdaptiveMaxPool2D>(out)) : std::make_shared<AdaptiveAveragePool2D>(out);
  if (out.size() > 1) throw UserError(w.name(), str("takes one extent for series, got ", out.size()));
  return is_max ? Layer(std::make_shared<AdaptiveMaxPool1D>(out[0])) : std::make_shared<AdaptiveAveragePool1D>(out[0]);
}

Layer upsample(Written& w, const Type& in, const ParseLayersOptions&) {
  require_rank(w, in, {3, 4}, "images [N, height, width, channels] or series [N, length, channels]");
  const std::vector<std::int64_t> scale = one_or_two(w, "the scale");
  const bool is_bilinear = w.has("bilinear");
  if (!is_bilinear) (void)w.has("nearest");
  return std::make_shared<Upsample>(scale, is_bilinear ? Interpolation::bilinear : Interpolation::nearest);
}

Layer group_norm(Written& w, const Type& in, const ParseLayersOptions&) {
  const std::int64_t groups = w.whole("the number of groups");
  return std::make_shared<GroupNorm>(groups, features_of(w, in));
}

Layer global_pool(Written& w, const Type&, const ParseLayersOptions&) {
  if (w.has("max")) return std::make_shared<GlobalMaxPool>();
  (void)w.has("average");
  return std::make_shared<GlobalAveragePool>();
}

Layer reshape_to(Written& w, const Type&, const ParseLayersOptions&) {
  std::vector<std::int64_t> dims{w.whole("the extents of a sample")};
  while (const std::optional<double> next = w.number()) dims.push_back(static_cast<std::int64_t>(*next));
  return std::make_shared<Reshape>(std::move(dims));
}

Layer embedding(Written& w, const Type& in, const ParseLayersOptions& options) {
  if (!is_index(in.dtype)) throw UserError(w.name(), str("takes numbers of words (i32), but gets ", in));
  const std::int64_t features = w.whole("features"), entries = w.whole_option("entries").value_or(options.entries);
  if (entries < 1) throw UserError(w.name(), "needs to know how many words there are; give entries=NUMBER");
  return std::make_shared<Embedding>(entries, features);
}

template <std::derived_from<Recurrent> Kind>
Layer recurrent(Written& w, const Type& in, const ParseLayersOptions&) {
  require_rank(w, in, {3}, "sequences [N, T, features]");
  const std::int64_t units = w.whole("units");
  RecurrentOptions with;
  with.return_sequences = w.has("sequences");
  with.reverse = w.has("backwards");
  const bool both = w.has("both");
  with.dropout = w.number_option("dropout").value_or(0);
  with.recurrent_dropout = w.number_option("recurrent_dropout").value_or(0);
  with.activation = w.activation(Activation::tanh);
  const Kind layer(features_of(w, in), units, with);
  if (!both) return std::make_shared<Kind>(layer);
  if (with.reverse) throw UserError(w.name(), "runs backwards or in both directions, not both");
  const std::string merge = w.option("merge").value_or("concat");
  const std::map<std::string, Merge> known{{"concat", Merge::concat}, {"sum", Merge::sum}, {"mean", Merge::mean}, {"product", Merge::product}};
  const auto found = known.find(merge);
  if (found == known.end()) throw UserError(w.name(), str("merge must be concat, sum, mean or product, got '", printable(merge), "'"));
  return std::make_shared<Bidirectional>(layer, found->second);
}

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> known{
      {"dense", dense},
      {"conv", conv},
      {"conv_transpose", conv_transpose},
      {"pool", pool},
      {"adaptive_pool", adaptive_pool},
      {"global_pool", global_pool},
      {"upsample", upsample},
      {"flatten", [](Written&, const Type&, const ParseLayersOptions&) { return std::make_shared<Flatten>(); }},
      {"reshape", reshape_to},
      {"dropout", [](Written& w, const Type&, const ParseLayersOptions&) { return std::make_shared<Dropout>(w.number("a rate")); }},
      {"spatial_dropout", [](Written& w, const Type&, const ParseLayersOptions&) { return std::make_shared<SpatialDropout>(w.number("a rate")); }},
      {"batch_norm", [](Written& w, const Type& in, const ParseLayersOptions&) { return std::make_shared<BatchNorm>(features_of(w, in)); }},
      {"layer_norm", [](Written& w, const Type& in, const ParseLayersOptions&) { return std::make_shared<LayerNorm>(features_of(w, in)); }},
      {"group_norm", group_norm},
      {"instance_norm", [](Written& w, const Type& in, const ParseLayersOptions&) { return std::make_shared<InstanceNorm>(features_of(w, in)); }},
      {"embedding", embedding},
      {"rnn", recurrent<SimpleRNN>},
      {"gru", recurrent<GRU>},
      {"lstm", recurrent<LSTM>},
  };
  return known;
}

Layer made(Written& w, const Type& in, const ParseLayersOptions& options) {
  if (w.name().empty()) throw UserError("layers", "there is no layer between two semicolons");
  if (const auto found = makers().find(w.name()); found != makers().end()) {
    Layer layer = found->second(w, in, options);
    w.finish();
    return layer;
  }
  std::vector<std::string> known;
  for (const auto& [name, make] : makers()) known.push_back(name);
  std::optional<Activation> activation;
  try {
    activation = parse_activation(w.name());
  } catch (const UserError&) {
    throw UserError("layers", str("there is no layer '", printable(w.name()), "'", nearest_hint(w.name(), known)));
  }
  w.finish();
  return std::make_shared<ActivationLayer>(*activation);
}

}  // namespace

Type output_type(Module& layer, const Type& samples) {
  const Trace scratch("layers");
  return layer(Trace::current()->input({"x", samples, ir::InputSpec::Kind::batch})).type();
}

Sequential parse_layers(std::string_view text, const Type& samples, const ParseLayersOptions& options) {
  std::vector<Layer> layers;
  Type type = samples;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string_view part = text.substr(at, end - at);
    const std::size_t first = std::min(part.find_first_not_of(space), part.size()), last = part.find_last_not_of(space);
    part = part.substr(first, last == part.npos ? 0 : last + 1 - first);
    try {
      Written written(part);
      layers.push_back(made(written, type, options));
      type = output_type(*layers.back(), type);
    } catch (const UserError& error) {
      throw UserError("layers", str("character ", at + first + 1, ", '", printable(part), "': ", error.what()));
    }
    at = end + 1;
  }
  return Sequential(layers);
}

}  // namespace sinter::nn
