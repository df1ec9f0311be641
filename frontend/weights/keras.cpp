#include "frontend/weights/keras.h"

#include <algorithm>

#include "frontend/weights/hdf5.h"
#include "ir/error.h"

namespace sinter::weights {

data::NamedArrays read_keras(const std::filesystem::path& path) {
  Hdf5File file(path);
  const auto find = [](const Hdf5File::Members& members, std::string_view name) {
    return std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
  };
  const Hdf5File::Members top = file.members(file.root(), "/");
  const auto layers = find(top, "layers");
  if (layers == top.end())
    throw UserError(path.string(),
                    "has no group 'layers'; Keras 3 writes one with model.save_weights(\"name.weights.h5\"), older files must be saved again");
  data::NamedArrays arrays;
  for (const auto& [layer, group] : file.members(layers->second, "layers")) {
    const Hdf5File::Members parts = file.members(group, layer);
    const auto variables = find(parts, "vars");
    if (variables == parts.end()) continue;  // a layer without weights
    for (const auto& [number, data_set] : file.members(variables->second, layer)) {
      const std::string name = str(layer, "/", number);
      arrays.emplace_back(name, file.read(data_set, name));
    }
  }
  return arrays;
}

}  // namespace sinter::weights
