#include "frontend/weights/keras.h"

#include <algorithm>

#include "frontend/core/name.h"
#include "frontend/weights/hdf5.h"
#include "ir/error.h"

namespace sinter::weights {

namespace {
constexpr std::size_t longest_name = 1000;
}

void visit_keras(const std::filesystem::path& path, const data::ArrayVisitor& visit) {
  Hdf5File file(path);
  const auto find = [](const Hdf5File::Members& members, std::string_view name) {
    return std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
  };
  const Hdf5File::Members top = file.members(file.root(), "/");
  const auto layers = find(top, "layers");
  if (layers == top.end())
    throw UserError(path.string(),
                    "has no group 'layers'; Keras 3 writes one with model.save_weights(\"name.weights.h5\"), older files must be saved again");
  const auto inside = [&](const std::string& layer, const std::string& name) {  // bounded, because each of many objects gets the whole of it
    if (layer.size() + 1 + name.size() > longest_name)
      throw UserError(path.string(),
                      str("has a name of more than ", longest_name, " bytes, '", layer.substr(0, 40), "...'; rename the model's layers"));
    return str(layer, "/", name);
  };
  Hdf5File::Members open = file.members(layers->second, "layers");  // groups whose variables are to be read; those inside of them are appended
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [layer, group] = open[i];
    for (const auto& [part, object] : file.members(group, layer)) {
      if (part == "seed_generator") continue;  // of a dropout: no weight
      if (part != "vars") {
        open.emplace_back(inside(layer, part), object);
        continue;
      }
      for (const auto& [number, data_set] : file.members(object, layer)) {
        const std::string name = inside(layer, number);
        require_name(path.string(), name);
        data::ArrayReader array = file.read(data_set, name);
        visit(name, array);
      }
    }
  }
}

data::NamedArrays read_keras(const std::filesystem::path& path) {
  data::NamedArrays arrays;
  visit_keras(path, [&](const std::string& name, data::ArrayReader& array) { arrays.emplace_back(name, array.array()); });
  return arrays;
}

}  // namespace sinter::weights
