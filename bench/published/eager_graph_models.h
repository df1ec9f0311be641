// The two models of the question and the three of the answer on eager against graph execution, with the series they are trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinter/sinter.h>

namespace sinter::published {

struct ConvLayer {
  std::int64_t filters, width, stride;
  bool same;  ///< padding

  /// Places of the window along a series of this length; 0 if it does not fit.
  std::int64_t places(std::int64_t length) const {
    if (same) return (length + stride - 1) / stride;
    return length < width ? 0 : (length - width) / stride + 1;
  }
};

/// Convolutions without activation, then an average or all numbers of all channels, then dense layers with ReLU and one sigmoid.
struct SeriesModel {
  std::string name;
  std::vector<ConvLayer> convolutions;
  std::vector<std::int64_t> dense;      ///< units, without the last one
  std::int64_t dropout_before = 0;      ///< 0.5, before this dense layer
  bool average = true;                  ///< over the places; else all numbers are kept
  std::vector<std::int64_t> recurrent;  ///< units of LSTMs before the convolutions, the first one in both directions
  std::int64_t iterations = 0;          ///< of the article

  nn::Sequential make(std::int64_t length, std::int64_t channels) const;
  /// Lengths behind each convolution.
  std::vector<std::int64_t> lengths(std::int64_t length) const;
  /// 2 FLOP a multiply-add, of a batch forwards; a training step is three times as much. Padded places count.
  double forward_flops(std::int64_t length, std::int64_t channels) const;
  /// Bytes of the results of all convolutions and LSTMs, of a batch: what training keeps at least.
  double result_bytes(std::int64_t length) const;
};

struct Cell {
  SeriesModel model;
  std::string data;  ///< small, medium, large; empty: the question's
  std::int64_t length, channels;
  std::int64_t parameters;            ///< by arithmetic on the article's layers
  std::vector<std::int64_t> lengths;  ///< the same
  double forward_gflop;               ///< the same, of a batch

  bool is_of_question() const { return data.empty(); }
  std::string name() const { return is_of_question() ? "question's " + model.name : model.name + " × " + data; }
};

/// The question's two, and the answer's eight: all but large × small, whose first window is longer than the series.
std::vector<Cell> cells();
SeriesModel large_model();

constexpr std::int64_t cell_batch = 32;

}  // namespace sinter::published
