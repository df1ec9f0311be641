// How an eager value was made, kept only where a gradient may be asked for.
#pragma once

#include <utility>

namespace sinter {

struct Record;

/// Reference-counted handle on a record. Dropping the last handle on a long chain frees it in a loop, not by recursion.
class RecordRef {
 public:
  RecordRef() = default;
  explicit RecordRef(Record* record) noexcept;  ///< takes over the initial reference of a new record
  RecordRef(const RecordRef& other) noexcept;
  RecordRef(RecordRef&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  RecordRef& operator=(RecordRef other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~RecordRef();
  Record* get() const { return record_; }
  Record* operator->() const { return record_; }
  explicit operator bool() const { return record_ != nullptr; }

 private:
  Record* record_ = nullptr;
};

}  // namespace sinter
