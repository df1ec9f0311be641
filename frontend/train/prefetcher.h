// A queue that a background thread keeps filled.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace sinter {

/// A queue that a background thread keeps filled. What the producer throws, next() throws.
template <class T>
class Prefetcher {
 public:
  /// `make` is called until it returns nothing; at most `ahead` results wait. 0: no thread, next() calls it.
  Prefetcher(std::function<std::optional<T>()> make, std::size_t ahead) : make_(std::move(make)), ahead_(ahead) {
    if (ahead_) thread_ = std::thread([this] { produce(); });
  }
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next result; empty after the last.
  std::optional<T> next() {
    if (!ahead_) return make_();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      return std::nullopt;
    }
    std::optional<T> result(std::move(ready_.front()));
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return result;
  }

 private:
  void produce() {
    std::exception_ptr error;
    try {
      for (;;) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return ready_.size() < ahead_ || stopped_; });
          if (stopped_) break;
        }
        std::optional<T> made = make_();
        if (!made) break;
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(*made));
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  }

  std::function<std::optional<T>()> make_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> ready_;
  std::exception_ptr error_;
  bool ended_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace sinter
