// The file format of an entry of the object cache: 64 bytes of head, then the key's source, target and version, then the code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/object_store.h"

namespace sinter::runtime {

/// The most bytes of an entry; larger code is compiled each time.
inline constexpr std::uint64_t max_entry_bytes = std::uint64_t{64} << 20;

/// The name of the key's entry: 32 hexadecimal digits of a hash over all of the key, and ".code".
std::string entry_name(const ObjectKey& key);
/// Whether files of this name are entries.
bool is_entry_name(std::string_view name);

/// A whole entry.
std::string to_entry(const ObjectKey& key, std::string_view code);

/// The result of reading an entry.
struct EntryContent {
  std::string code;
  std::string problem;  ///< why the code must not be used; "" if it may
};
/// Reads the entry that `descriptor` is open on and compares all of it with the key. Allocates no more than the file's size, and that only if it is
/// the size that the head states.
EntryContent read_entry(int descriptor, const ObjectKey& key);

}  // namespace sinter::runtime
