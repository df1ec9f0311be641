#include "runtime/file/object_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>

#include "ir/error.h"
#include "runtime/file/digest.h"

namespace sinter::runtime {

namespace {

constexpr std::string_view suffix = ".code";
constexpr std::array<char, 8> magic{'S', 'i', 'n', 't', 'e', 'r', 'M', 'C'};
constexpr std::uint32_t format_version = 1;
static_assert(std::endian::native == std::endian::little);

struct Head {
  std::array<char, 8> magic;
  std::uint32_t format, reserved;
  std::uint64_t source, target, version, code;  ///< bytes of each
  std::array<std::uint64_t, 2> checksum;        ///< XXH128 of what precedes it and of everything after the head
};
static_assert(sizeof(Head) == 64 && std::has_unique_object_representations_v<Head>);

std::array<std::uint64_t, 2> hash_of(std::initializer_list<std::string_view> parts) {
  Digest digest;
  for (const std::string_view part : parts) digest.add(std::as_bytes(std::span(part)));
  return digest.value();
}

std::string_view before_checksum(const Head& head) { return {reinterpret_cast<const char*>(&head), offsetof(Head, checksum)}; }

/// Fills `into` from this offset; false if the file ends before, or cannot be read.
bool read_at(int descriptor, std::uint64_t offset, char* into, std::size_t bytes) {
  while (bytes) {
    const ssize_t count = ::pread(descriptor, into, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    into += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

std::string entry_name(const ObjectKey& key) {
  const std::uint64_t sizes[] = {key.source.size(), key.target.size(), key.version.size()};
  const auto hash = hash_of({{reinterpret_cast<const char*>(sizes), sizeof sizes}, key.source, key.target, key.version});
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash[0]), static_cast<unsigned long long>(hash[1]));
  return str(digits, suffix);
}

bool is_entry_name(std::string_view name) {
  constexpr std::size_t digits = 32;
  return name.size() == digits + suffix.size() && name.ends_with(suffix) &&
         std::all_of(name.begin(), name.begin() + digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string to_entry(const ObjectKey& key, std::string_view code) {
  Head head{magic, format_version, 0, key.source.size(), key.target.size(), key.version.size(), code.size(), {}};
  head.checksum = hash_of({before_checksum(head), key.source, key.target, key.version, code});
  std::string entry(reinterpret_cast<const char*>(&head), sizeof head);
  entry.reserve(sizeof head + key.source.size() + key.target.size() + key.version.size() + code.size());
  return entry.append(key.source).append(key.target).append(key.version).append(code);
}

EntryContent read_entry(int descriptor, const ObjectKey& key) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return {"", str("cannot be read (", std::strerror(errno), ")")};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Head head{};
  if (size < sizeof head || !read_at(descriptor, 0, reinterpret_cast<char*>(&head), sizeof head)) return {"", "is cut short"};
  if (head.magic != magic) return {"", "is no entry of the cache"};
  if (head.format != format_version) return {"", str("has format ", head.format, ", not ", format_version)};
  if (size > max_entry_bytes) return {"", str("has ", size, " bytes, more than any entry")};
  std::uint64_t left = size - sizeof head;
  for (const std::uint64_t part : {head.source, head.target, head.version, head.code}) {
    if (part > left) return {"", "is cut short"};
    left -= part;
  }
  if (left) return {"", str("has ", left, " bytes too many")};
  std::string rest(size - sizeof head, '\0');
  if (!read_at(descriptor, sizeof head, rest.data(), rest.size())) return {"", "is cut short"};
  if (head.checksum != hash_of({before_checksum(head), rest})) return {"", "has a wrong checksum"};
  const std::string_view all = rest;
  const std::string_view source = all.substr(0, head.source), target = all.substr(head.source, head.target),
                         version = all.substr(head.source + head.target, head.version);
  if (target != key.target) return {"", str("is for another CPU, '", target, "'")};
  if (version != key.version) return {"", str("is by another version, '", version, "'")};
  if (source != key.source) return {"", "is of another step"};
  rest.erase(0, rest.size() - head.code);
  return {std::move(rest), ""};
}

}  // namespace sinter::runtime
