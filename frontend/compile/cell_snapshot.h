// The values of cells, kept and put back.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "frontend/core/parameter.h"

namespace sinter {

using Cells = std::span<const std::shared_ptr<Cell>>;

inline std::vector<CellValue> values_of(Cells cells) {
  std::vector<CellValue> values;
  for (const auto& cell : cells) values.push_back(cell->value());
  return values;
}
inline void restore(Cells cells, std::span<const CellValue> values) {
  for (std::size_t i = 0; i < values.size(); ++i) cells[i]->set(values[i]);
}

/// Holds the cells' values and restores them at its end.
class CellSnapshot {
 public:
  explicit CellSnapshot(std::vector<std::shared_ptr<Cell>> cells) : cells_(std::move(cells)), values_(values_of(cells_)) {}
  ~CellSnapshot() { restore(); }
  CellSnapshot(const CellSnapshot&) = delete;
  CellSnapshot& operator=(const CellSnapshot&) = delete;
  void restore() const { sinter::restore(cells_, values_); }

 private:
  std::vector<std::shared_ptr<Cell>> cells_;
  std::vector<CellValue> values_;
};

}  // namespace sinter
