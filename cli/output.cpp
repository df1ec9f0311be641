#include "cli/output.h"

#include <fcntl.h>
#include <sinter/sinter.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>

namespace sinter::cli {

namespace {

namespace fs = std::filesystem;

/// The path without links, also those whose target does not exist yet; the same for all names of a file but hard links.
fs::path resolved(const fs::path& name) {
  constexpr int most_links = 40;
  std::error_code error;
  fs::path path = fs::absolute(name, error);
  if (!path.has_filename()) path = path.parent_path();  // folder/
  for (int i = 0; i < most_links && fs::is_symlink(path, error) && !fs::exists(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return fs::weakly_canonical(path, error);
}

/// Whether both names mean one file or folder, existing or to be created.
bool same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::is_other(a, error)) return false;  // a device or a FIFO
  return fs::exists(a, error) && fs::exists(b, error) ? fs::equivalent(a, b, error) : resolved(a) == resolved(b);
}

/// Whether a path lies in a folder of this name.
bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path inner = resolved(path), outer = resolved(folder);
  return inner != outer && std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

std::vector<fs::path> files_of(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input.empty()) continue;
    files.emplace_back(input);
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

void check_outputs(const Outputs& outputs, const std::vector<std::string>& inputs) {
  struct Output {
    std::string option, path;
    bool folder;
  };
  std::vector<Output> all;
  for (const auto& [option, path] : outputs.files) all.push_back({option, path, false});
  for (const auto& [option, path] : outputs.folders) all.push_back({option, path, true});
  std::erase_if(all, [](const Output& output) { return output.path.empty(); });
  const std::vector<fs::path> read = files_of(inputs);
  for (auto output = all.begin(); output != all.end(); ++output) {
    const auto& [option, path, folder] = *output;
    const char* another = folder ? "; name another folder" : "; name another file";
    for (const fs::path& input : read)
      if (same(path, input))
        throw UserError(option, str(folder ? "would write into " : "would overwrite ", input.string(), ", which is an input", another));
    for (auto other = all.begin(); other != output; ++other) {
      if (same(path, other->path)) throw UserError(option, str("names the same path as ", other->option, ", ", other->path, another));
      for (const auto& [inner, outer] : {std::pair{output, other}, std::pair{other, output}})
        if (!outer->folder && lies_in(inner->path, outer->path))
          throw UserError(inner->option, str(inner->path, " would lie in ", outer->path, ", the file of ", outer->option, "; name another path"));
    }
    if (!folder) const runtime::AtomicFile probe(path);
    else if (std::error_code error; fs::exists(path, error) && !fs::is_directory(path, error))
      throw UserError(option, str("needs a folder, but ", path, " is none", another));
  }
}

}  // namespace sinter::cli
