// What the copies of a module share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/nn/module.h"

namespace sinter::nn {

struct ModuleState {
  struct Own {
    Parameter parameter;
    std::string name;
    bool trains;  ///< while it is not frozen
    Penalty penalty;
  };
  std::string kind, name;
  std::string qualified_name;  ///< the path with the kind of the root in front
  bool trainable = true;
  std::vector<Own> own;
  std::vector<std::shared_ptr<ModuleState>> children;

  const std::string& label() const { return name.empty() ? kind : name; }
  /// Renames it, all below it, and their parameters to their new paths.
  void rename(const std::string& path, const std::string& qualified_path);
  /// This state and all below it, in order of registration, each once.
  std::vector<ModuleState*> all();
};

}  // namespace sinter::nn
