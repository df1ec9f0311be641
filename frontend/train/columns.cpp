#include "frontend/train/columns.h"

#include "frontend/core/ops.h"

namespace sinter {

const Tensor& Column::array() const {
  if (has_sequences_)
    throw UserError("Column", str("holds sequences, ", sequences_.type(), ", and an array is needed; take sequences() or sequences().padded()"));
  return array_;
}

std::int64_t Column::size() const {
  if (has_sequences_) return sequences_.size();
  return array_.defined() && array_.rank() ? array_.shape()[0].factor() : 0;
}

Column Column::slice(std::int64_t begin, std::int64_t end) const {
  if (has_sequences_) return sequences_.slice(begin, end);
  return sinter::slice(array_, 0, begin, end);
}

Column Column::select(std::span<const std::int32_t> numbers) const {
  if (has_sequences_) return sequences_.select(numbers);
  return gather_rows(array_, Tensor(numbers, {std::ssize(numbers)}));
}

Column joined(std::span<const Column> columns) {
  std::vector<Tensor> values;
  for (const Column& column : columns) values.push_back(column.values());
  const Tensor all = concat(values, 0);
  if (!columns[0].has_sequences()) return all;
  std::vector<std::int64_t> offsets{0};
  for (const Column& column : columns)
    for (std::int64_t i = 0; i < column.size(); ++i) offsets.push_back(offsets.back() + column.sequences().length(i));
  return Sequences(all, std::move(offsets));
}

const Tensor& Columns::only() const {
  if (list_.size() != 1) throw UserError("Columns", str("exactly one array is needed, but there are ", list_.size(), "; pick one by its index"));
  return list_[0].array();
}

std::vector<Tensor> Columns::arrays() const {
  std::vector<Tensor> arrays;
  for (const Column& column : list_) arrays.push_back(column.array());
  return arrays;
}

}  // namespace sinter
