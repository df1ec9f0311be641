#include "frontend/weights/keras2.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/core/name.h"
#include "frontend/weights/layers.h"
#include "ir/error.h"

namespace sinter::weights {

namespace {

using Group = Hdf5File::Group;

/// A weight without the path to it: "kernel", which Keras 2 wrote as "kernel:0".
struct Weight {
  std::string name;
  data::ArrayReader array;
};

/// The weights of a layer that has none inside of it.
struct Part {
  std::string path;  ///< sequential/bidirectional/forward_gru/gru_cell
  std::vector<Weight> weights;

  const data::ArrayReader* find(std::string_view name) const {
    const auto found = std::find_if(weights.begin(), weights.end(), [&](const Weight& w) { return w.name == name; });
    return found == weights.end() ? nullptr : &found->array;
  }
};

bool is_named(const std::string& path, std::string_view part) { return path.find(part) != path.npos; }

/// The kind of a layer of convolutions, by its kernel and bias; nothing if these do not tell.
std::optional<std::string_view> kind_of_convolution(const Part& part, const std::vector<std::int64_t>& kernel) {
  const data::ArrayReader* bias = part.find("bias");
  const std::size_t rank = kernel.size();
  const bool fits = !bias || bias->shape() == std::vector{kernel[rank - 1]}, fits_transpose = !bias || bias->shape() == std::vector{kernel[rank - 2]};
  if (rank == 4 && fits_transpose && (!fits || is_named(part.path, "transpose"))) return "conv2d_transpose";
  if (!fits || is_named(part.path, "transpose")) return {};
  return rank == 3 ? "conv1d" : "conv2d";
}

/// The kind of a layer as Keras names it, "dense", by the names and shapes of its weights; nothing if these do not tell.
std::optional<std::string_view> kind_of(const Part& part) {
  for (const std::string_view other : {"depthwise", "separable", "attention", "einsum"})
    if (is_named(part.path, other)) return {};
  if (const data::ArrayReader* recurrent = part.find("recurrent_kernel")) {
    const std::vector<std::int64_t>& shape = recurrent->shape();
    for (const Kind& kind : kinds())
      if (kind.gates && shape.size() == 2 && shape[1] == shape[0] * kind.gates) return kind.keras;
    return {};
  }
  if (part.find("moving_variance")) return "batch_normalization";
  if (part.find("gamma") || part.find("beta")) return is_named(part.path, "group_norm") ? "group_normalization" : "layer_normalization";
  if (part.find("embeddings")) return "embedding";
  if (part.find("alpha")) return "p_re_lu";
  const data::ArrayReader* kernel = part.find("kernel");
  if (!kernel) return {};
  if (kernel->shape().size() == 2) return "dense";
  return kernel->shape().size() == 3 || kernel->shape().size() == 4 ? kind_of_convolution(part, kernel->shape()) : std::nullopt;
}

/// Numbers layers of a kind: dense, dense_1, …
class Numbers {
 public:
  std::string next(const std::string& kind) {
    const std::size_t number = counts_[kind]++;
    return number ? str(kind, "_", number) : kind;
  }

 private:
  std::map<std::string, std::size_t> counts_;
};

/// See visit_keras2.
class Keras2File {
 public:
  Keras2File(Hdf5File& file, const std::filesystem::path& path) : file_(file), path_(path.string()) {}

  bool visit(const Group& root, const data::ArrayVisitor& visit) {
    const Hdf5File::Object* of_model = root.find("model_weights");  // beside the optimizer's
    const Group& layers = of_model ? group(*of_model, "model_weights") : root;
    const auto names = texts(layers, "layer_names", of_model ? "model_weights" : "/");
    if (!names) return false;
    for (const std::string& layer : *names) {
      const Hdf5File::Object* of_layer = layers.find(layer);
      if (!of_layer) throw UserError(path_, str("lists a layer '", layer, "', which it does not have; the file is damaged"));
      std::string both;  // the Bidirectional that the parts are in
      for (Part& part : parts_of(*of_layer, layer)) {
        const std::string name = name_of(part, both);
        require_name(path_, name);
        for (std::size_t i = 0; i < part.weights.size(); ++i) visit(str(name, "/", i), part.weights[i].array);
      }
    }
    return true;
  }

 private:
  const Group& group(Hdf5File::Object object, const std::string& name) {
    const auto known = groups_.find(object);
    return known != groups_.end() ? known->second : groups_.emplace(object, file_.group(object, name)).first->second;
  }

  /// A list of names, which Keras divides into several if it is long: layer_names0, layer_names1, …
  std::optional<std::vector<std::string>> texts(const Group& group, const std::string& attribute, const std::string& name) {
    if (auto whole = file_.texts(group, attribute, name)) return whole;
    std::optional<std::vector<std::string>> all;
    for (std::size_t i = 0;; ++i) {
      const auto part = file_.texts(group, str(attribute, i), name);
      if (!part) return all;
      if (!all) all.emplace();
      all->insert(all->end(), part->begin(), part->end());
    }
  }

  /// The data set at a path below the group of a layer.
  Hdf5File::Object data_set(Hdf5File::Object object, const std::string& layer, std::string_view path) {
    for (std::string_view rest = path;;) {
      const std::size_t cut = rest.find('/');
      const Hdf5File::Object* next = group(object, layer).find(rest.substr(0, cut));
      if (!next) throw UserError(path_, str("lists a weight '", path, "' of layer '", layer, "', which it does not have; the file is damaged"));
      object = *next;
      if (cut == rest.npos) return object;
      rest.remove_prefix(cut + 1);
    }
  }

  std::vector<Part> parts_of(Hdf5File::Object object, const std::string& layer) {
    std::vector<Part> parts;
    const std::optional<std::vector<std::string>> names = texts(group(object, layer), "weight_names", layer);
    if (!names) throw UserError(path_, str("does not list the weights of layer '", layer, "'; the file is damaged"));
    for (const std::string& name : *names) {
      const std::size_t cut = name.rfind('/');
      const std::string path = cut == name.npos ? layer : name.substr(0, cut), own = cut == name.npos ? name : name.substr(cut + 1);
      auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.path == path; });
      if (part == parts.end()) part = parts.insert(parts.end(), {path, {}});
      part->weights.push_back({own.substr(0, own.find(':')), file_.read(data_set(object, layer, name), str(layer, "/", own))});
    }
    require_order(parts, layer);
    return parts;
  }

  /// Of a model inside of another, Keras lists what is trained before what is not: behind them, frozen layers are not in the model's order.
  void require_order(const std::vector<Part>& parts, const std::string& layer) const {
    std::map<std::string_view, std::string_view> before;  // by the name without a number
    for (const Part& part : parts) {
      const std::string_view name = std::string_view(part.path).substr(part.path.rfind('/') + 1);
      const auto [found, is_first] = before.emplace(unnumbered(name), name);
      if (!is_first && natural_order(name, found->second).less)
        throw UserError(path_,
                        str("lists '", found->second, "' of the model '", layer, "' before '", name, "', as if some of its layers were frozen, ",
                            "so that their order is not known; make all of them trainable and save again, or save as .weights.h5"));
      found->second = name;
    }
  }

  std::string name_of(const Part& part, std::string& both) {
    const std::optional<std::string_view> kind = kind_of(part);
    if (!kind) return numbers_.next(std::string(unnumbered(std::string_view(part.path).substr(part.path.rfind('/') + 1))));
    if (!part.find("recurrent_kernel")) return numbers_.next(std::string(*kind));
    if (is_named(part.path, "/forward_")) return (both = numbers_.next("bidirectional")) + "/forward_layer/cell";
    if (is_named(part.path, "/backward_") && !both.empty()) return both + "/backward_layer/cell";
    return numbers_.next(std::string(*kind)) + "/cell";
  }

  Hdf5File& file_;
  const std::string path_;
  std::map<Hdf5File::Object, Group> groups_;
  Numbers numbers_;
};

}  // namespace

bool visit_keras2(Hdf5File& file, const Group& root, const std::filesystem::path& path, const data::ArrayVisitor& visit) {
  return Keras2File(file, path).visit(root, visit);
}

}  // namespace sinter::weights
