#include "runtime/file/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "runtime/file/file_system.h"

namespace sinter::runtime {

namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, Durability durability, unsigned mode) : path_(std::move(path)), durability_(durability) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    throw UserError(path_.string(), "cannot write the file: it is a folder; give the name of a file");
  if (std::filesystem::is_symlink(path_, ignored)) {  // replace what the link names, not the link
    const auto target = std::filesystem::weakly_canonical(path_, ignored);
    if (!ignored) path_ = target;
  }
  static std::atomic<unsigned> counter{0};
  int error = 0;
  do {  // a name that exists is left from a process that died
    temporary_ = str(path_.string(), temporary_infix, ::getpid(), "-", counter++);
    error = FileSystem::current().create(temporary_, mode, descriptor_);
  } while (error == EEXIST);
  require("create it", error);
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) (void)::fchmod(descriptor_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  FileSystem::current().close(descriptor_);
  FileSystem::current().remove(temporary_);
}

void AtomicFile::require(const char* what, int error) const {
  if (error == 0) return;
  throw UserError(path_.string(), str("cannot write the file: failed to ", what, " (", std::strerror(error),
                                      "); choose a folder that exists, is writable and has space"));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t most_buffered = std::size_t{1} << 16;
  if (buffer_.size() + bytes.size() > most_buffered) flush();
  if (bytes.size() > most_buffered) write_through(bytes);
  else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::size_t count = 0;
    require("write to it", FileSystem::current().write(descriptor_, bytes, count));
    if (count == 0) require("write to it", ENOSPC);
    bytes = bytes.subspan(count);
  }
}

void AtomicFile::commit() {
  flush();
  FileSystem& system = FileSystem::current();
  if (durability_ == Durability::synced) require("flush it to the disk", system.sync(descriptor_));
  const int error = system.close(std::exchange(descriptor_, -1));
  if (const int failed = error ? error : system.rename(temporary_, path_.string())) {
    system.remove(temporary_);
    require("give it its name", failed);
  }
  if (durability_ == Durability::synced) require("flush its folder to the disk", system.sync_folder(folder_of(path_).string()));
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw UserError(path.string(), str("cannot open the file: ", std::strerror(errno), "; check the path"));
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw UserError(path.string(), "cannot read the file: it is no regular file; check the path");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw UserError(path_.string(), str("cannot read the file: ", std::strerror(errno), "; check the disk"));
    if (count == 0) throw UserError(path_.string(), str("the file ended at byte ", offset, " while it was read; another program has shortened it"));
    into = into.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace sinter::runtime
