// The cells of a clone of a step.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "frontend/core/parameter.h"

namespace sinter {

/// The cells of a clone, which stand for those that its step reads. One thread at a time uses them, while others publish.
class PublishedCells {
 public:
  /// What sinter::publish does.
  static void publish(std::span<const Parameter> parameters);
  /// With what was published last; cells that were never published with their present values. Throws UserError if a running compiled step assigns one
  /// of the latter.
  explicit PublishedCells(std::span<const std::shared_ptr<Cell>> cells);
  ~PublishedCells();
  PublishedCells(const PublishedCells&) = delete;
  PublishedCells& operator=(const PublishedCells&) = delete;

  /// The cells that stand for these. Throws UserError for one that was not known before and never was published.
  std::vector<std::shared_ptr<Cell>> in_place_of(std::span<const std::shared_ptr<Cell>> cells);
  /// All of its own cells; from any thread.
  std::vector<std::shared_ptr<Cell>> all() const;
  /// Takes the values that were published since, all of them. Never blocks and allocates nothing.
  void refresh() {
    if (mail_.load(std::memory_order_relaxed)) take();
  }

 private:
  using Values = std::vector<CellValue>;  ///< one per cell, empty where nothing was published
  struct Pair {
    std::shared_ptr<Cell> original, own;
  };
  bool add(const std::shared_ptr<Cell>& cell, bool unpublished_too);
  void send();
  void take();

  std::vector<Pair> cells_;             ///< changed by the clone's thread, under the lock of publish()
  std::atomic<Values*> mail_{nullptr};  ///< stored by publish(); whoever takes it out owns it
};

}  // namespace sinter
