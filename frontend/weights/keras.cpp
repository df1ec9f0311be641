#include "frontend/weights/keras.h"

#include <hdf5.h>

#include <algorithm>
#include <limits>

#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::weights {

namespace {

/// An HDF5 handle, closed by the function that belongs to it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: HDF5's functions take it
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

std::vector<std::string> members(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names);
  return names;
}

/// `file_size` bounds what a data set can hold.
data::HostArray read_dataset(hid_t group, const std::string& name, const std::string& where, std::uint64_t file_size) {
  const Handle set(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.valid()) throw UserError(where, "is no data set; the file is damaged");
  const Handle space(H5Dget_space(set), H5Sclose), type(H5Dget_type(set), H5Tclose);
  if (H5Tget_class(type) != H5T_FLOAT) throw UserError(where, "does not hold floating-point numbers");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || static_cast<std::size_t>(rank) > Shape::max_rank)
    throw UserError(where, str("has ", rank, " dimensions, at most ", Shape::max_rank, " are supported"));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  data::HostArray array;
  std::uint64_t size = sizeof(float);
  bool fits = true;
  for (const hsize_t extent : extents) {
    fits = fits && extent <= static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max()) && !__builtin_mul_overflow(size, extent, &size);
    array.shape.push_back(static_cast<std::int64_t>(extent));
  }
  // What a file claims to hold must lie in it, unless it is packed; Keras packs nothing.
  if (!fits || size / sizeof(float) > std::min<std::uint64_t>(H5Dget_storage_size(set), file_size) / std::max<std::size_t>(1, H5Tget_size(type)))
    throw UserError(where, "claims more numbers than the file has; the file is damaged");
  array.bytes.resize(size);
  if (H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes.data()) < 0)
    throw UserError(where, "cannot be read; the file is damaged");
  return array;
}

}  // namespace

data::NamedArrays read_keras(const std::filesystem::path& path) {
  const std::string where = path.string();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors come as UserErrors, not on stderr
  const Handle file(H5Fopen(where.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) throw UserError(where, "cannot be opened as an HDF5 file");
  const Handle layers(H5Gopen2(file, "layers", H5P_DEFAULT), H5Gclose);
  if (!layers.valid())
    throw UserError(where, "has no group 'layers'; Keras 3 writes one with model.save_weights(\"name.weights.h5\"), older files must be saved again");
  const std::uint64_t file_size = runtime::InputFile(path).size();
  data::NamedArrays arrays;
  for (const std::string& layer : members(layers)) {
    const Handle variables(H5Gopen2(layers, (layer + "/vars").c_str(), H5P_DEFAULT), H5Gclose);
    if (!variables.valid()) continue;  // a layer without weights
    for (const std::string& name : members(variables))
      arrays.emplace_back(str(layer, "/", name), read_dataset(variables, name, str(where, ", ", layer, "/", name), file_size));
  }
  return arrays;
}

}  // namespace sinter::weights
