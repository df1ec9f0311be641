#include "tests/support/faulty_files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

namespace sinter::test {

using Call = FaultyFiles::Call;
using runtime::FileSystem;

// ---- faults ----

int FaultyFiles::begin(Call call, std::size_t& allowed) { return before(call, ++calls_, allowed); }

int FaultyFiles::open_to_read(const std::string& path, int& descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::open_to_read, unused);
  return fault ? fault : FileSystem::open_to_read(path, descriptor);
}

int FaultyFiles::read(int descriptor, std::uint64_t offset, std::span<std::byte> into, std::size_t& count) {
  std::size_t allowed = into.size();
  const int fault = begin(Call::read, allowed);
  return fault ? fault : FileSystem::read(descriptor, offset, into.first(std::min(allowed, into.size())), count);
}

int FaultyFiles::lock_folder(const std::string& path, int& descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::lock_folder, unused), error = FileSystem::lock_folder(path, descriptor);
  return fault ? fault : error;
}

int FaultyFiles::create(const std::string& path, unsigned mode, int& descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::create, unused);
  return fault ? fault : FileSystem::create(path, mode, descriptor);
}

int FaultyFiles::open(const std::string& path, int flags, int& descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::open, unused);
  return fault ? fault : FileSystem::open(path, flags, descriptor);
}

int FaultyFiles::write(int descriptor, std::span<const std::byte> bytes, std::size_t& written) {
  std::size_t allowed = bytes.size();
  const int fault = begin(Call::write, allowed);
  return fault ? fault : FileSystem::write(descriptor, bytes.first(std::min(allowed, bytes.size())), written);
}

int FaultyFiles::sync(int descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::sync, unused);
  return fault ? fault : FileSystem::sync(descriptor);
}

int FaultyFiles::close(int descriptor) {
  std::size_t unused = 0;
  const int fault = begin(Call::close, unused), error = FileSystem::close(descriptor);  // the descriptor is gone whatever close returns
  return fault ? fault : error;
}

int FaultyFiles::rename(const std::string& from, const std::string& to) {
  std::size_t unused = 0;
  const int fault = begin(Call::rename, unused);
  return fault ? fault : FileSystem::rename(from, to);
}

int FaultyFiles::sync_folder(const std::string& folder) {
  std::size_t unused = 0;
  const int fault = begin(Call::sync_folder, unused);
  return fault ? fault : FileSystem::sync_folder(folder);
}

int FaultyFiles::remove(const std::string& path) {
  std::size_t unused = 0;
  const int fault = begin(Call::remove, unused);
  return fault ? fault : FileSystem::remove(path);
}

int FaultyFiles::make_folder(const std::string& path) {
  std::size_t unused = 0;
  const int fault = begin(Call::make_folder, unused);
  return fault ? fault : FileSystem::make_folder(path);
}

int SmallDisk::before(Call call, std::size_t, std::size_t& allowed) {
  if (call != Call::write) return 0;
  if (left_ == 0) return ENOSPC;
  allowed = std::min({allowed, left_, piece_});
  left_ -= allowed;
  return 0;
}

int KillAt::before(Call, std::size_t number, std::size_t&) {
  if (number == number_) std::raise(SIGKILL);
  return 0;
}

// ---- memory ----

void WriteLog::add(Event event) {
  const std::lock_guard lock(mutex_);
  log_.push_back(std::move(event));
}

int WriteLog::create(const std::string& path, unsigned mode, int& descriptor) {
  const int error = FileSystem::create(path, mode, descriptor);
  if (error) return error;
  const std::lock_guard lock(mutex_);
  open_[descriptor] = files_;
  log_.push_back({Call::create, path, {}, files_++});
  return 0;
}

int WriteLog::write(int descriptor, std::span<const std::byte> bytes, std::size_t& written) {
  const int error = FileSystem::write(descriptor, bytes, written);
  const std::lock_guard lock(mutex_);
  if (const auto file = open_.find(descriptor); !error && file != open_.end())
    log_.push_back({Call::write, {}, {}, file->second, {reinterpret_cast<const char*>(bytes.data()), written}});
  return error;
}

int WriteLog::sync(int descriptor) {
  const int error = FileSystem::sync(descriptor);
  const std::lock_guard lock(mutex_);
  if (!error) log_.push_back({Call::sync, {}, {}, open_.at(descriptor)});
  return error;
}

int WriteLog::close(int descriptor) {
  const std::lock_guard lock(mutex_);
  open_.erase(descriptor);
  return FileSystem::close(descriptor);
}

int WriteLog::rename(const std::string& from, const std::string& to) {
  const int error = FileSystem::rename(from, to);
  if (!error) add({Call::rename, from, to});
  return error;
}

int WriteLog::sync_folder(const std::string& folder) {
  const int error = FileSystem::sync_folder(folder);
  if (!error) add({Call::sync_folder, folder, {}});
  return error;
}

int WriteLog::remove(const std::string& path) {
  const int error = FileSystem::remove(path);
  if (!error) add({Call::remove, path, {}});
  return error;
}

std::map<std::string, std::string> WriteLog::after(std::size_t calls, Loss loss, const std::string& folder) const {
  std::map<std::string, std::size_t> names, safe_names;  // path -> file
  std::map<std::size_t, std::string> contents, safe_contents;
  for (std::size_t i = 0; i < calls; ++i) {
    const Event& event = log_[i];
    if (event.call == Call::create) names[event.path] = event.file;
    if (event.call == Call::write) contents[event.file] += event.bytes;
    if (event.call == Call::sync) safe_contents[event.file] = contents[event.file];
    if (event.call == Call::remove) names.erase(event.path);
    if (event.call == Call::rename) {
      names[event.to] = names.at(event.path);
      names.erase(event.path);
    }
    if (event.call == Call::sync_folder) safe_names = names;
  }
  std::map<std::string, std::string> result;
  for (const auto& [path, file] : loss.names ? safe_names : names) {
    if (std::filesystem::path(path).parent_path() != folder) continue;
    const auto& from = loss.content ? safe_contents : contents;
    const auto found = from.find(file);
    result[std::filesystem::path(path).filename()] = found == from.end() ? "" : found->second;
  }
  return result;
}

}  // namespace sinter::test
