// File systems that fail, stop or remember: what tests put in the place of the system's.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/file/file_system.h"

namespace sinter::test {

/// Is the process's file system while it lives. Derive, and say in before() what happens instead of a call.
class FaultyFiles : public runtime::FileSystem {
 public:
  enum class Call : std::uint8_t { create, open, write, sync, close, rename, sync_folder, remove, make_folder, lock_folder, open_to_read, read };

  FaultyFiles() : before_(exchange(this)) {}
  ~FaultyFiles() override { exchange(before_); }
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  int open_to_read(const std::string& path, int& descriptor) override;
  int read(int descriptor, std::uint64_t offset, std::span<std::byte> into, std::size_t& count) override;
  int create(const std::string& path, unsigned mode, int& descriptor) override;
  int open(const std::string& path, int flags, int& descriptor) override;
  int write(int descriptor, std::span<const std::byte> bytes, std::size_t& written) override;
  int sync(int descriptor) override;
  int close(int descriptor) override;
  int rename(const std::string& from, const std::string& to) override;
  int sync_folder(const std::string& folder) override;
  int remove(const std::string& path) override;
  int lock_folder(const std::string& path, int& descriptor) override;
  int make_folder(const std::string& path) override;

  /// Calls so far.
  std::size_t calls() const { return calls_; }

 protected:
  /// Called before the system is, with the number of the call from 1: an errno that the call returns instead, or 0. `allowed`: of a write, how many
  /// bytes at most.
  virtual int before(Call call, std::size_t number, std::size_t& allowed) = 0;

 private:
  int begin(Call call, std::size_t& allowed);

  FileSystem* before_;
  std::atomic<std::size_t> calls_{0};
};

/// Fails some calls: those for which `fault` returns an errno.
class FailingFiles : public FaultyFiles {
 public:
  using Fault = std::function<int(Call call, std::size_t number)>;
  explicit FailingFiles(Fault fault) : fault_(std::move(fault)) {}

 protected:
  int before(Call call, std::size_t number, std::size_t&) override { return fault_(call, number); }

 private:
  Fault fault_;
};

/// A disk of `capacity` bytes that writes at most `piece` bytes at once; what is removed does not come back to it.
class SmallDisk : public FaultyFiles {
 public:
  explicit SmallDisk(std::size_t capacity, std::size_t piece = SIZE_MAX) : left_(capacity), piece_(piece) {}

 protected:
  int before(Call call, std::size_t number, std::size_t& allowed) override;

 private:
  std::size_t left_, piece_;
};

/// Kills the process at its call of this number, before the system has it.
class KillAt : public FaultyFiles {
 public:
  explicit KillAt(std::size_t number) : number_(number) {}

 protected:
  int before(Call call, std::size_t number, std::size_t& allowed) override;

 private:
  std::size_t number_;
};

/// Remembers what is written to new files until it is stopped, and can tell what a disk may hold if the machine failed after any of the calls.
class WriteLog : public runtime::FileSystem {
 public:
  WriteLog() : before_(exchange(this)) {}
  ~WriteLog() override { stop(); }
  void stop() {
    if (!std::exchange(stopped_, true)) exchange(before_);
  }
  WriteLog(const WriteLog&) = delete;
  WriteLog& operator=(const WriteLog&) = delete;

  int create(const std::string& path, unsigned mode, int& descriptor) override;
  int write(int descriptor, std::span<const std::byte> bytes, std::size_t& written) override;
  int sync(int descriptor) override;
  int close(int descriptor) override;
  int rename(const std::string& from, const std::string& to) override;
  int sync_folder(const std::string& folder) override;
  int remove(const std::string& path) override;

  /// What becomes of what was not yet flushed when the machine fails. Names: made, changed and removed ones; content: of files.
  struct Loss {
    bool names, content;
  };
  std::size_t calls() const { return log_.size(); }
  /// The files of a folder, by name, after the first `calls` calls and a failure of the machine.
  std::map<std::string, std::string> after(std::size_t calls, Loss loss, const std::string& folder) const;

 private:
  struct Event {
    FaultyFiles::Call call;
    std::string path, to;  ///< of a rename: from, to
    std::size_t file = 0;  ///< number of the file that was created or written
    std::string bytes = {};
  };
  void add(Event event);

  FileSystem* before_;
  bool stopped_ = false;
  std::mutex mutex_;
  std::vector<Event> log_;
  std::map<int, std::size_t> open_;  ///< number of the file by descriptor
  std::size_t files_ = 0;
};

}  // namespace sinter::test
