#include "runtime/file/file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace sinter::runtime {

namespace {

int result(int returned) { return returned == 0 ? 0 : errno; }

std::atomic<FileSystem*> in_use{nullptr};

}  // namespace

int FileSystem::open_to_read(const std::string& path, int& descriptor) {
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return descriptor < 0 ? errno : 0;
}

int FileSystem::read(int descriptor, std::uint64_t offset, std::span<std::byte> into, std::size_t& count) {
  const ssize_t got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
  count = got < 0 ? 0 : static_cast<std::size_t>(got);
  return got < 0 ? errno : 0;
}

int FileSystem::create(const std::string& path, unsigned mode, int& descriptor) {
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  return descriptor < 0 ? errno : 0;
}

int FileSystem::open(const std::string& path, int flags, int& descriptor) {
  do descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
  while (descriptor < 0 && errno == EINTR);
  return descriptor < 0 ? errno : 0;
}

int FileSystem::write(int descriptor, std::span<const std::byte> bytes, std::size_t& written) {
  const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
  written = count < 0 ? 0 : static_cast<std::size_t>(count);
  return count < 0 ? errno : 0;
}

int FileSystem::sync(int descriptor) { return result(::fsync(descriptor)); }
int FileSystem::close(int descriptor) { return result(::close(descriptor)); }
int FileSystem::rename(const std::string& from, const std::string& to) { return result(std::rename(from.c_str(), to.c_str())); }
int FileSystem::remove(const std::string& path) { return result(::unlink(path.c_str())); }

int FileSystem::sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = result(::fsync(descriptor));
  ::close(descriptor);
  return error == EINVAL ? 0 : error;  // some file systems have no fsync for folders
}

int FileSystem::make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) return ENOTDIR;
  return error.value();
}

int FileSystem::lock_folder(const std::string& path, int& descriptor) {
  descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return descriptor < 0 ? errno : result(::flock(descriptor, LOCK_EX | LOCK_NB));
}

FileSystem& FileSystem::current() {
  static FileSystem system;
  FileSystem* other = in_use.load();
  return other ? *other : system;
}

FileSystem* FileSystem::exchange(FileSystem* other) { return in_use.exchange(other); }

}  // namespace sinter::runtime
