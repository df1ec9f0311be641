#include "frontend/core/assignment_log.h"

namespace sinter {

namespace {
thread_local AssignmentLog* current = nullptr;
}  // namespace

AssignmentLog::AssignmentLog() : outer_(std::exchange(current, this)) {}

AssignmentLog::~AssignmentLog() {
  current = outer_;
  if (!keeps_)
    for (auto& [cell, before] : before_) before.first->set(std::move(before.second));
  else if (outer_) outer_->before_.merge(before_);  // what it has is older
}

void AssignmentLog::note(const std::shared_ptr<Cell>& cell) {
  if (!current) return;
  const auto [place, fresh] = current->before_.try_emplace(cell.get());
  if (fresh) place->second = {cell, cell->value()};
}

}  // namespace sinter
