#include "runtime/file/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "runtime/file/file_system.h"

namespace sinter::runtime {

namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

/// The call's error; a call that a signal interrupted is repeated.
template <class Call>
int uninterrupted(Call&& call) {
  int error = 0;
  do error = call();
  while (error == EINTR);
  return error;
}

const char* kind_of(mode_t mode) { return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device"; }

/// What to do about an error of a call that writes.
const char* next_step(int error) {
  if (error == ENOSPC || error == EDQUOT) return "; make room on the device, or write to another one";
  return error == EFBIG ? "; raise the limit, or write less" : "; choose a folder that exists and is writable";
}

void require_call(const std::filesystem::path& path, const char* what, int error) {
  if (error == 0) return;
  throw SystemError(path.string(), str("cannot write the file: failed to ", what, " (", error_text(error), ")", next_step(error)), error);
}

/// The number of a descriptor of this process, from the system's names for them; -1 for any other path.
int own_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = -1;
    if (!path.starts_with(folder)) continue;
    const auto [end, error] = std::from_chars(path.data() + folder.size(), path.data() + path.size(), number);
    if (error == std::errc{} && end == path.data() + path.size()) return number;
  }
  return -1;
}

/// The file that is written through this path: the end of a chain of links, so that the target is replaced and not the link.
std::filesystem::path target_of(std::filesystem::path path) {
  constexpr int most_links = 40;  // the kernel's limit
  std::error_code error;
  for (int i = 0; i < most_links && own_descriptor(path.native()) < 0 && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = folder_of(path) / target;  // an absolute target replaces the folder
  }
  return path;
}

/// Whether this is written in place. Throws SystemError if it is a folder, or a stream that may not be written to.
bool is_stream(const std::filesystem::path& path) {
  if (own_descriptor(path.native()) >= 0) return true;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  if (S_ISDIR(status.st_mode)) throw SystemError(path.string(), "cannot write the file: it is a folder; give the name of a file", EISDIR);
  require_call(path, "open it", ::access(path.c_str(), W_OK) == 0 ? 0 : errno);
  return true;
}

int open_stream(const std::filesystem::path& path) {
  const int own = own_descriptor(path.native());
  int descriptor = own < 0 ? -1 : ::fcntl(own, F_DUPFD_CLOEXEC, 0);
  require_call(path, "open it", own < 0 ? FileSystem::current().open(path.string(), 0, descriptor) : descriptor < 0 ? errno : 0);
  return descriptor;
}

void write_all(const std::filesystem::path& path, int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::size_t count = 0;
    require_call(path, "write to it", uninterrupted([&] { return FileSystem::current().write(descriptor, bytes, count); }));
    if (count == 0) require_call(path, "write to it", ENOSPC);
    bytes = bytes.subspan(count);
  }
}

/// The name of a temporary file beside the file. Of a name that would be too long with its ending, only the beginning is kept.
std::string temporary_beside(const std::filesystem::path& path, unsigned number) {
  const std::string ending = str(temporary_infix, ::getpid(), "-", number);
  std::string name = path.filename().string();
  if (const std::size_t room = NAME_MAX - ending.size(); name.size() > room) {
    std::size_t end = room;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // no part of a character
    name.resize(end);
  }
  return (path.parent_path() / (name + ending)).string();
}

}  // namespace

std::string error_text(int error) {
  const std::string text = std::strerror(error);
  return error == EFBIG ? text + ": more than the limit on the size of a file, see ulimit -f" : text;
}

// ---- atomic ----

AtomicFile::AtomicFile(std::filesystem::path path, Durability durability, unsigned mode)
    : path_(target_of(std::move(path))), durability_(durability), stream_(is_stream(path_)) {
  if (stream_) return;
  static std::atomic<unsigned> counter{0};
  int error = 0;
  do {  // an existing name is left from a process that died
    temporary_ = temporary_beside(path_, counter++);
    error = uninterrupted([&] { return FileSystem::current().create(temporary_, mode, descriptor_); });
  } while (error == EEXIST);
  require("create it", error);
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) (void)::fchmod(descriptor_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  FileSystem::current().close(descriptor_);
  if (!stream_) FileSystem::current().remove(temporary_);
}

void AtomicFile::require(const char* what, int error) const { require_call(path_, what, error); }

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
  if (descriptor_ < 0) descriptor_ = open_stream(path_);
  write_all(path_, descriptor_, bytes);
}

void AtomicFile::commit() {
  flush();
  FileSystem& system = FileSystem::current();
  if (stream_) return require("close it", system.close(std::exchange(descriptor_, -1)));
  if (durability_ == Durability::synced) require("flush it to the disk", uninterrupted([&] { return system.sync(descriptor_); }));
  const int closed = system.close(std::exchange(descriptor_, -1)), error = closed == EINTR ? 0 : closed;  // closed even if interrupted
  if (const int failed = error ? error : uninterrupted([&] { return system.rename(temporary_, path_.string()); })) {
    system.remove(temporary_);
    require("give it its name", failed);
  }
  if (durability_ == Durability::synced)
    require("flush its folder to the disk", uninterrupted([&] { return system.sync_folder(folder_of(path_).string()); }));
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

// ---- append ----

AppendFile::AppendFile(std::filesystem::path path) : path_(target_of(std::move(path))), stream_(is_stream(path_)) {
  if (!stream_) require_call(path_, "open it", FileSystem::current().open(path_.string(), O_CREAT | O_APPEND, descriptor_));
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) FileSystem::current().close(descriptor_);
}

void AppendFile::write(std::string_view text) {
  if (descriptor_ < 0) descriptor_ = open_stream(path_);
  write_all(path_, descriptor_, std::as_bytes(std::span(text)));
}

std::uint64_t AppendFile::size() const {
  struct stat status{};
  if (stream_) return 0;
  require_call(path_, "ask for its size", ::fstat(descriptor_, &status) == 0 ? 0 : errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void AppendFile::cut(std::uint64_t size) {
  if (!stream_) require_call(path_, "cut it", ::ftruncate(descriptor_, static_cast<off_t>(size)) == 0 ? 0 : errno);
}

// ---- read ----

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  if (const int error = uninterrupted([&] { return FileSystem::current().open_to_read(path.string(), descriptor_); }))
    throw SystemError(path.string(), str("cannot open the file: ", std::strerror(error), "; check the path"), error);
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw SystemError(path.string(), str("cannot read the file: it is ", kind_of(status.st_mode), "; give a regular file"), EINVAL);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    std::size_t count = 0;
    if (const int error = uninterrupted([&] { return FileSystem::current().read(descriptor_, offset, into, count); }))
      throw SystemError(path_.string(), str("cannot read the file: ", std::strerror(error), "; check the disk"), error);
    if (count == 0) throw UserError(path_.string(), str("the file ended at byte ", offset, " while it was read; another program has shortened it"));
    into = into.subspan(count);
    offset += count;
  }
}

int InputFile::duplicate() const {
  const int other = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (other < 0) throw SystemError(path_.string(), str("cannot open the file: ", std::strerror(errno), "; check the path"), errno);
  return other;
}

}  // namespace sinter::runtime
