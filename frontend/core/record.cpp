#include "frontend/core/record.h"

#include <vector>

#include "frontend/core/record_node.h"

namespace sinter {

RecordRef::RecordRef(Record* record) noexcept : record_(record) {}

RecordRef::RecordRef(const RecordRef& other) noexcept : record_(other.record_) {
  if (record_) record_->references.fetch_add(1, std::memory_order_relaxed);
}

void release_record(Record* record) noexcept {
  // Records dropped while one is being deleted wait in a list, so that a chain of any length needs no stack.
  thread_local std::vector<Record*> waiting;
  thread_local bool busy = false;
  if (record->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  waiting.push_back(record);
  if (busy) return;
  busy = true;
  while (!waiting.empty()) {
    Record* next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  busy = false;
}

RecordRef::~RecordRef() {
  if (record_) release_record(record_);
}

}  // namespace sinter
