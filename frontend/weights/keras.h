// The weights files of Keras: HDF5 with /layers/NAME/vars/NUMBER of Keras 3, and those of Keras 2 (keras2.h).
#pragma once

#include <filesystem>

#include "frontend/data/npz.h"

namespace sinter::weights {

/// The variables of all layers as `NAME/NUMBER`: dense/0, dense/1, dense_1/0, …, of a layer inside of another as bidirectional/forward_layer/cell/0,
/// without the seeds of dropouts, and those of Keras 2 as if it were Keras 3; f16 and f64 become f32. Throws UserError `[file] …` for a missing or
/// damaged file, one of another layout, and one that Hdf5File does not read.
data::NamedArrays read_keras(const std::filesystem::path& path);
/// The same, array after array.
void visit_keras(const std::filesystem::path& path, const data::ArrayVisitor& visit);

}  // namespace sinter::weights
