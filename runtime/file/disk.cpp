#include "runtime/file/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "ir/error.h"

namespace sinter::runtime {

namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    throw UserError(path_.string(), "cannot write the file: it is a folder; give the name of a file");
  if (std::filesystem::is_symlink(path_, ignored)) {  // replace what the link names, not the link
    const auto target = std::filesystem::weakly_canonical(path_, ignored);
    if (!ignored) path_ = target;
  }
  static std::atomic<unsigned> counter{0};
  do {  // a name that exists is left from a process that died
    temporary_ = str(path_.string(), ".tmp-", ::getpid(), "-", counter++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("create it");
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) (void)::fchmod(descriptor_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  throw UserError(path_.string(), str("cannot write the file: failed to ", what, " (", std::strerror(errno),
                                      "); choose a folder that exists, is writable and has space"));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write to it");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flush it to the disk");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("give it its name");
  ::close(descriptor_);
  descriptor_ = -1;
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail("open its folder");
  // Some file systems have no fsync for folders and say EINVAL.
  const bool flushed = ::fsync(folder) == 0 || errno == EINVAL;
  const int reason = errno;
  ::close(folder);
  errno = reason;
  if (!flushed) fail("flush its folder to the disk");
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
