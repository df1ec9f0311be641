#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

#include "fuzz/target.h"

namespace sinter::fuzz {

MemoryFile::MemoryFile(Bytes bytes) : descriptor_(memfd_create("sinter-fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(descriptor_, bytes.data() + at, bytes.size() - at);
    if (count < 0) throw std::system_error(errno, std::generic_category(), "write to a file in memory");
    at += static_cast<std::size_t>(count);
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() { close(descriptor_); }

}  // namespace sinter::fuzz
