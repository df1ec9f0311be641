// Named numbers and tensors: what a metric, a callback or a run of fit keeps in a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

class SavedState {
 public:
  /// Each throws UserError for a name that no file can hold: see require_name.
  void set(const std::string& name, std::vector<double> numbers);
  void set(const std::string& name, double number) { set(name, std::vector<double>{number}); }
  void set(const std::string& name, const Tensor& tensor);

  bool has(const std::string& name) const { return numbers_.contains(name) || tensors_.contains(name); }
  /// What was set, bit for bit. Each throws UserError if there is nothing of this name and kind.
  const std::vector<double>& numbers(const std::string& name) const;
  const Tensor& tensor(const std::string& name) const;
  /// A single number; also throws if there are several.
  double number(const std::string& name) const;
  /// A whole number in [low, high]; also throws for any other.
  std::int64_t integer(const std::string& name, std::int64_t low, std::int64_t high) const;

  const std::map<std::string, std::vector<double>>& all_numbers() const& { return numbers_; }
  const std::map<std::string, Tensor>& all_tensors() const& { return tensors_; }
  void all_numbers() && = delete;  // a loop over those of a temporary would outlive it
  void all_tensors() && = delete;

  /// Puts what `other` has under `prefix` + its names, and takes it out again.
  void add(const std::string& prefix, const SavedState& other);
  SavedState part(const std::string& prefix) const;

 private:
  std::map<std::string, std::vector<double>> numbers_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace sinter
