// Models and weights that Keras 2 wrote, or Keras 3 to a name that ends with .h5: HDF5 with a group for each layer, and lists of the names.
#pragma once

#include <filesystem>

#include "frontend/data/array_stream.h"
#include "frontend/weights/hdf5.h"

namespace sinter::weights {

/// Visits the weights of a file of this kind, whose root this is, under the names that Keras 3 would give them: by kind of layer, which the names and
/// shapes of its weights tell, and numbered in the order of the layers. False, and nothing is done, if the file is of another kind. Throws UserError
/// `[file] …` for names that the file does not have, and for one that Hdf5File does not read.
bool visit_keras2(Hdf5File& file, const Hdf5File::Group& root, const std::filesystem::path& path, const data::ArrayVisitor& visit);

}  // namespace sinter::weights
