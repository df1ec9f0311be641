#include "runtime/file/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ir/error.h"

namespace sinter::runtime {

void MappedFile::reserve(std::size_t size, int descriptor, std::string_view where) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t file_pages = (size + page - 1) / page * page;
  reserved_ = file_pages + page;
  // One range for everything, so that nothing else can be mapped after the file.
  constexpr int rights = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_NORESERVE;
  void* memory = ::mmap(nullptr, reserved_, rights, own | MAP_ANONYMOUS, -1, 0);
  const auto fail = [&] {
    const int reason = errno;
    if (memory != MAP_FAILED) ::munmap(memory, reserved_);
    const std::string rule = str("cannot map ", size, " bytes into memory (", std::strerror(reason), ")");
    throw SystemError(where, rule + "; free memory or raise the limit (ulimit -v)", reason);
  };
  if (memory == MAP_FAILED) fail();
  if (descriptor >= 0 && size && ::mmap(memory, file_pages, rights, own | MAP_FIXED, descriptor, 0) == MAP_FAILED) fail();
  bytes_ = {static_cast<std::byte*>(memory), size};
}

MappedFile::MappedFile(const InputFile& file, std::string_view where) { reserve(file.size(), file.descriptor(), where); }

MappedFile::MappedFile(std::string_view bytes, std::string_view where) {
  reserve(bytes.size(), -1, where);
  if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
}

MappedFile::~MappedFile() { ::munmap(bytes_.data(), reserved_); }

}  // namespace sinter::runtime
