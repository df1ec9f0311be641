// Undoes the assignments of an eager step that throws.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "frontend/core/parameter.h"

namespace sinter {

/// While it lives, the values that cells have before they are assigned on this thread are kept. At its end they are put back, unless keep() was
/// called.
class AssignmentLog {
 public:
  AssignmentLog();
  ~AssignmentLog();
  AssignmentLog(const AssignmentLog&) = delete;
  AssignmentLog& operator=(const AssignmentLog&) = delete;

  /// The assignments stay, and belong to the log around this one.
  void keep() { keeps_ = true; }
  /// Must be called before a cell is assigned.
  static void note(const std::shared_ptr<Cell>& cell);

 private:
  AssignmentLog* outer_;
  bool keeps_ = false;
  std::unordered_map<const Cell*, std::pair<std::shared_ptr<Cell>, CellValue>> before_;
};

}  // namespace sinter
