// Storage of machine code between processes: the interface that codegen uses and runtime/file/object_cache.h implements.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

/// Everything that determines the code: equal keys compile to equal code.
struct ObjectKey {
  std::string source;   ///< what is compiled, as bytes
  std::string target;   ///< CPU and features that the code may use
  std::string version;  ///< of everything that turns a source into code
  bool operator==(const ObjectKey&) const = default;
};

/// May be called from several threads concurrently. Failures are not errors: then no code is found, or it is not kept.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  /// The code kept under a key that is equal in every byte.
  virtual std::optional<std::string> find(const ObjectKey& key) = 0;
  virtual void keep(const ObjectKey& key, std::string_view code) = 0;
  /// What find() returned cannot be used ("holds no code for this machine"): it is dropped, and counts as not found.
  virtual void reject(const ObjectKey& key, const std::string& why) = 0;
};

}  // namespace sinter
