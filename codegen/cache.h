// The object cache: machine code on disk, so that a program that ran before starts at once.
#pragma once

#include <optional>
#include <string>

namespace sinter::codegen {

/// Key of a module: XXH128 of its unoptimized bitcode, the target's CPU and features, and the version of all that turns it into code.
std::string cache_key(const std::string& bitcode, const std::string& target, const std::string& version);

/// The folder in use: $XDG_CACHE_HOME/sinter, else ~/.cache/sinter, made with access for its owner alone; "" if SINTER_CACHE is "off" or no folder
/// can be had. Throws UserError if SINTER_CACHE has another value than "on" or "off".
std::string cache_folder();

/// The object of this key, or none; an entry that is damaged is removed.
std::optional<std::string> read_cache(const std::string& folder, const std::string& key);
/// Best effort: a full or read-only disk loses only the speed-up. Written whole or not at all.
void write_cache(const std::string& folder, const std::string& key, const std::string& object);

}  // namespace sinter::codegen
