// Where machine code lasts from process to process: what codegen asks for, and who keeps it (runtime/file/object_cache.h) provides.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

/// All that decides what code is: whoever compiles with an equal key gets the same.
struct ObjectKey {
  std::string source;   ///< what is compiled, as bytes
  std::string target;   ///< CPU and features that the code may use
  std::string version;  ///< of all that makes code of a source
  bool operator==(const ObjectKey&) const = default;
};

/// May be called from several threads at once. Nothing that goes wrong is an error: then there is no code, or it is not kept.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  /// What was kept under a key equal in every byte.
  virtual std::optional<std::string> find(const ObjectKey& key) = 0;
  virtual void keep(const ObjectKey& key, std::string_view code) = 0;
  /// What find() returned cannot be used ("holds no code for this machine"): it is forgotten, and counts as not found.
  virtual void reject(const ObjectKey& key, const std::string& why) = 0;
};

}  // namespace sinter
