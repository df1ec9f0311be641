#include "cli/output.h"

#include <fcntl.h>
#include <sinter/sinter.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>

namespace sinter::cli {

namespace {

namespace fs = std::filesystem;

/// Whether both names mean one regular file, existing or to be created.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  const fs::path one = fs::weakly_canonical(a, error);
  return !error && one == fs::weakly_canonical(b, error) && !error;
}

std::vector<fs::path> files_of(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input.empty()) continue;
    if (!fs::is_directory(input, error)) files.emplace_back(input);
    else
      for (fs::directory_iterator at(input, error), end; !error && at != end; at.increment(error)) files.push_back(at->path());
  }
  return files;
}

}  // namespace

// ---- standard output ----

StandardOutput::StandardOutput() : before_(std::cout.rdbuf(this)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  if (::isatty(STDOUT_FILENO)) std::cout << std::unitbuf;
}

StandardOutput::~StandardOutput() {
  finish();
  std::cout.rdbuf(before_);
}

int StandardOutput::sync() {
  for (const char* at = pbase(); at != pptr() && !error_;) {
    const ssize_t count = ::write(STDOUT_FILENO, at, static_cast<std::size_t>(pptr() - at));
    if (count >= 0) at += count;
    else if (errno != EINTR) error_ = errno;
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return 0;
}

StandardOutput::int_type StandardOutput::overflow(int_type c) {
  sync();
  return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c) : sputc(traits_type::to_char_type(c));
}

int StandardOutput::finish() {
  sync();
  return error_;
}

std::string shown(const std::string& table) { return ::isatty(STDOUT_FILENO) ? printable_lines(table) : table; }

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// ---- files ----

void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<std::string>& inputs) {
  const std::vector<fs::path> read = files_of(inputs);
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto& [option, path] = *output;
    if (path.empty()) continue;
    for (const fs::path& input : read)
      if (same_file(path, input)) throw UserError(option, str("would overwrite ", input.string(), ", which is an input; name another file"));
    for (auto other = outputs.begin(); other != output; ++other)
      if (!other->second.empty() && same_file(path, other->second))
        throw UserError(option, str("names the same file as ", other->first, ", ", other->second, "; name another file"));
    const runtime::AtomicFile probe(path);
  }
}

}  // namespace sinter::cli
