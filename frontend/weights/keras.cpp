#include "frontend/weights/keras.h"

#include "frontend/core/name.h"
#include "frontend/weights/hdf5.h"
#include "frontend/weights/keras2.h"
#include "ir/error.h"

namespace sinter::weights {

namespace {
constexpr std::size_t longest_name = 1000;
}

void visit_keras(const std::filesystem::path& path, const data::ArrayVisitor& visit) {
  Hdf5File file(path);
  const Hdf5File::Group top = file.group(file.root(), "/");
  if (visit_keras2(file, top, path, visit)) return;
  const Hdf5File::Object* layers = top.find("layers");
  if (!layers)
    throw UserError(path.string(),
                    "has neither a group 'layers', which Keras 3 writes with model.save_weights(\"name.weights.h5\"), nor the attribute "
                    "'layer_names' of Keras 2");
  const auto inside = [&](const std::string& layer, const std::string& name) {  // bounded, because each of many objects gets the whole of it
    if (layer.size() + 1 + name.size() > longest_name)
      throw UserError(path.string(),
                      str("has a name of more than ", longest_name, " bytes, '", layer.substr(0, 40), "...'; rename the model's layers"));
    return str(layer, "/", name);
  };
  Hdf5File::Members open = file.group(*layers, "layers").members;  // groups whose variables are to be read; those inside of them are appended
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [layer, group] = open[i];
    for (const auto& [part, object] : file.group(group, layer).members) {
      if (part == "seed_generator") continue;  // of a dropout: no weight
      if (part != "vars") {
        open.emplace_back(inside(layer, part), object);
        continue;
      }
      for (const auto& [number, data_set] : file.group(object, layer).members) {
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
