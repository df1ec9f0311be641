#include <algorithm>
#include <map>

#include "frontend/core/operands.h"
#include "frontend/core/ops.h"

namespace sinter {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }
std::string those_in(const std::string& letters, const std::string& others, bool in = true) {
  std::string result;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(result), [&](char c) { return has(others, c) == in; });
  return result;
}

/// A tensor whose axes have names.
struct Named {
  Tensor value;
  std::string axes;
};

class Einsum {
 public:
  Einsum(std::string_view subscripts, const std::vector<Tensor>& operands, const std::source_location& where)
      : text_(subscripts), operands_(operands), where_(where) {
    parse();
    for (std::size_t i = 0; i < operands.size(); ++i) check(i);
    for (std::size_t i = 0; i < result_.size(); ++i) {
      if (!sizes_.contains(result_[i])) refuse(str("'", result_[i], "' of the result is in no operand"));
      if (result_.find(result_[i], i + 1) != result_.npos) refuse(str("'", result_[i], "' is twice in the result"));
    }
  }

  Tensor evaluate() const {
    Named total{operands_[0], axes_[0]};
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      std::string wanted = result_;
      for (std::size_t later = i + 1; later < operands_.size(); ++later) wanted += axes_[later];
      total = product(total, {operands_[i], axes_[i]}, wanted);
    }
    return arranged(summed(total, result_), result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& rule) const { fail(where_, str("einsum \"", text_, "\": ", rule)); }

  void parse() {
    std::string letters;
    bool has_arrow = false;
    std::string* part = &axes_.emplace_back();
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == ' ') continue;
      if (c == ',' && !has_arrow) {
        part = &axes_.emplace_back();
      } else if (c == '-' && text_[i + 1] == '>' && !has_arrow) {
        has_arrow = true;
        part = &result_;
        ++i;
      } else if (is_letter(c)) {
        *part += c;
        if (!has_arrow) letters += c;
      } else if (c == '.') {
        refuse("\"...\" is not supported; name all axes");
      } else {
        refuse(str("subscripts are letters, commas and one ->, got '", c, "'"));
      }
    }
    if (axes_.size() != operands_.size()) refuse(str("has subscripts of ", axes_.size(), " operands, got ", operands_.size()));
    if (has_arrow) return;
    std::sort(letters.begin(), letters.end());
    for (const char c : letters)
      if (std::count(letters.begin(), letters.end(), c) == 1) result_ += c;
  }

  void check(std::size_t i) {
    const std::string& axes = axes_[i];
    const Tensor& x = operands_[i];
    if (axes.size() != x.rank()) refuse(str("\"", axes, "\" names ", axes.size(), " axes, but operand ", i, " is ", x.type()));
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes.find(axes[axis], axis + 1) != axes.npos) refuse(str("'", axes[axis], "' is twice in operand ", i, "; a diagonal is not supported"));
      const auto [known, fresh] = sizes_.try_emplace(axes[axis], Size{x.shape()[axis], i});
      if (!fresh && known->second.dim != x.shape()[axis])
        refuse(str("'", axes[axis], "' is ", known->second.dim, " in operand ", known->second.operand, " and ", x.shape()[axis], " in operand ", i));
    }
  }

  Dim size(const std::string& letters) const {
    Dim product = 1;
    for (const char c : letters) product = product * sizes_.at(c).dim;
    return product;
  }

  Arg arg(const Tensor& x) const { return {x, where_}; }

  /// Sums over the axes that are not in `wanted`.
  Named summed(const Named& x, const std::string& wanted) const {
    Named result = x;
    for (std::size_t axis = x.axes.size(); axis-- > 0;)
      if (!has(wanted, x.axes[axis])) {
        result.value = sum(arg(result.value), {static_cast<std::int64_t>(axis)});
        result.axes.erase(axis, 1);
      }
    return result;
  }

  Tensor arranged(const Named& x, const std::string& axes) const {
    std::vector<std::size_t> order;
    for (const char c : axes) order.push_back(x.axes.find(c));
    return permuted(x.value, order, where_);
  }

  /// The sum of products over the axes that only these two have: a product of matrices for each index of the axes that both have and
  /// that stay.
  Named product(const Named& first, const Named& second, const std::string& wanted) const {
    const Named a = summed(first, wanted + second.axes), b = summed(second, wanted + first.axes);
    const std::string common = those_in(a.axes, b.axes), both = those_in(common, wanted), inner = those_in(common, wanted, false),
                      left = those_in(a.axes, common, false), right = those_in(b.axes, common, false), axes = both + left + right;
    require_shape(axes);
    const Dim batch = size(both), m = size(left), k = size(inner), f = size(right);
    const bool batch_in_matrices = !both.empty() && batch.is_fixed() && !(m * k * f).is_fixed();  // which batch_matmul does not take
    Tensor result;
    if (inner.empty() || batch_in_matrices) {
      const Tensor x = reshape(arg(arranged(a, both + left + inner)), {batch, m, 1, k}),
                   y = reshape(arg(arranged(b, both + right + inner)), {batch, 1, f, k});
      result = arg(x) * arg(y);
      if (!inner.empty()) result = sum(arg(result), {-1});
    } else {
      const bool transpose_a = a.axes == both + inner + left, transpose_b = b.axes == both + right + inner;  // read in place
      std::vector<Dim> x{m, k}, y{k, f};
      if (transpose_a) std::swap(x[0], x[1]);
      if (transpose_b) std::swap(y[0], y[1]);
      if (!both.empty()) x.insert(x.begin(), batch), y.insert(y.begin(), batch);
      result = matmul(arg(reshape(arg(arranged(a, transpose_a ? a.axes : both + left + inner)), x)),
                      arg(reshape(arg(arranged(b, transpose_b ? b.axes : both + inner + right)), y)), transpose_a, transpose_b);
    }
    return {reshape(arg(result), dims(axes)), axes};
  }

  std::vector<Dim> dims(const std::string& letters) const {
    std::vector<Dim> result;
    for (const char c : letters) result.push_back(sizes_.at(c).dim);
    return result;
  }

  void require_shape(const std::string& axes) const {
    if (axes.size() > Shape::max_rank)
      refuse(str("a product of two operands has the axes \"", axes, "\", at most ", Shape::max_rank, " are possible"));
    char batch = 0;
    for (const char c : axes) {
      if (!sizes_.at(c).dim.is_batch()) continue;
      if (batch) refuse(str("the batch dimension is in one product as '", batch, "' and as '", c, "'; sum over one of them first"));
      batch = c;
    }
  }

  struct Size {
    Dim dim;
    std::size_t operand;
  };
  std::string text_;
  const std::vector<Tensor>& operands_;
  std::source_location where_;
  std::vector<std::string> axes_;
  std::string result_;
  std::map<char, Size> sizes_;
};

}  // namespace

Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands, std::source_location where) {
  if (operands.empty()) fail(where, str("einsum \"", subscripts, "\" needs at least 1 operand, got none"));
  return Einsum(subscripts, operands, where).evaluate();
}

}  // namespace sinter
