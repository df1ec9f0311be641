// Mean, deviation and range of numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter::data {

/// In one pass, in double precision (Welford 1962): the error does not grow with the mean, and numbers that are all the same have a variance of
/// exactly 0.
class Spread {
 public:
  void add(double x) {
    const double before = mean_;
    mean_ += (x - mean_) / ++count_;
    squares_ += (x - before) * (x - mean_);
    least_ = std::min(least_, x);
    greatest_ = std::max(greatest_, x);
  }

  double count() const { return count_; }
  double mean() const { return mean_; }
  /// Of the numbers themselves: divided by their count, not by one less.
  double variance() const { return count_ > 0 ? squares_ / count_ : 0; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

 private:
  double mean_ = 0, squares_ = 0, count_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), greatest_ = -std::numeric_limits<double>::infinity();
};

/// What numbers of this deviation or range are divided by: 1 if they are all the same.
inline double divisor(double spread) { return spread > 0 ? spread : 1; }

}  // namespace sinter::data
