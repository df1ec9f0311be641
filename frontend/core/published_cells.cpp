#include "frontend/core/published_cells.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "frontend/core/trace.h"

namespace sinter {

namespace {

/// The cells of all clones. Never destroyed: clones in static storage may outlive any other static. A fork must not leave the lock to a thread
/// that the child lacks.
struct ReaderCounts {
  std::mutex mutex;  ///< also guards Cell::published
  std::vector<PublishedCells*> all;

  static ReaderCounts& instance() {
    static ReaderCounts* readers = [] {
      pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); }, [] { instance().mutex.unlock(); });
      return new ReaderCounts;
    }();
    return *readers;
  }
};

const std::shared_ptr<Cell>& original_of(const std::shared_ptr<Cell>& cell) { return cell->original ? cell->original : cell; }

}  // namespace

void PublishedCells::publish(std::span<const Parameter> parameters) {
  if (Trace::current()) throw UserError("publish", "cannot be traced; call it between steps");
  ReaderCounts& readers = ReaderCounts::instance();
  const std::lock_guard lock(readers.mutex);
  for (const Parameter& p : parameters) {
    if (!p.defined()) throw UserError("publish", "a parameter was never set");
    p.cell()->require_unassigned("publish between steps, on the thread that trains");
  }
  std::unordered_set<const Cell*> now;
  for (const Parameter& p : parameters) {
    p.cell()->published = p.cell()->value();
    now.insert(p.cell().get());
  }
  for (PublishedCells* reader : readers.all)
    if (std::any_of(reader->cells_.begin(), reader->cells_.end(), [&](const auto& pair) { return now.contains(pair.original.get()); }))
      reader->send();
}

PublishedCells::PublishedCells(std::span<const std::shared_ptr<Cell>> cells) {
  ReaderCounts& readers = ReaderCounts::instance();
  const std::lock_guard lock(readers.mutex);
  for (const auto& cell : cells) add(cell, true);
  readers.all.push_back(this);
}

PublishedCells::~PublishedCells() {
  ReaderCounts& readers = ReaderCounts::instance();
  const std::lock_guard lock(readers.mutex);
  std::erase(readers.all, this);
  delete mail_.load();
}

/// Whether there is a cell for this one now. Only under the lock.
bool PublishedCells::add(const std::shared_ptr<Cell>& cell, bool unpublished_too) {
  const std::shared_ptr<Cell>& original = original_of(cell);
  if (std::any_of(cells_.begin(), cells_.end(), [&](const Pair& pair) { return pair.original == original; })) return true;
  if (!original->published && !unpublished_too) return false;
  if (!original->published) cell->require_unassigned("clone() on the thread that trains, or publish() first");
  const CellValue value = original->published ? *original->published : cell->value();
  auto own = std::make_shared<Cell>(Cell{original->name, original->qualified_name, original->type, original->trainable, value.version, value.buffer});
  own->original = original;
  cells_.push_back({original, std::move(own)});
  return true;
}

std::vector<std::shared_ptr<Cell>> PublishedCells::in_place_of(std::span<const std::shared_ptr<Cell>> cells) {
  std::vector<std::shared_ptr<Cell>> result;
  for (const auto& cell : cells) {
    const auto find = [&] { return std::find_if(cells_.begin(), cells_.end(), [&](const Pair& p) { return p.original == original_of(cell); }); };
    auto found = find();
    if (found == cells_.end()) {
      const std::lock_guard lock(ReaderCounts::instance().mutex);
      if (!add(cell, false))
        throw UserError("clone",
                        str("reads '", cell->name, "', which was never published; publish() the parameters, or call the step once before clone()"));
      send();  // what was sent to the others may be newer than what they hold
      take();
      found = find();
    }
    result.push_back(found->own);
  }
  return result;
}

std::vector<std::shared_ptr<Cell>> PublishedCells::all() const {
  const std::lock_guard lock(ReaderCounts::instance().mutex);
  std::vector<std::shared_ptr<Cell>> result;
  for (const Pair& pair : cells_) result.push_back(pair.own);
  return result;
}

/// Mails all published values. Only under the lock.
void PublishedCells::send() {
  auto values = std::make_unique<Values>();
  for (const Pair& pair : cells_) values->push_back(pair.original->published.value_or(CellValue{}));
  delete mail_.exchange(values.release(), std::memory_order_acq_rel);
}

void PublishedCells::take() {
  const std::unique_ptr<Values> values(mail_.exchange(nullptr, std::memory_order_acquire));
  for (std::size_t i = 0; i < values->size(); ++i)
    if ((*values)[i].buffer) cells_[i].own->set(std::move((*values)[i]));
}

}  // namespace sinter
