// sinter convert: weights from one format to another.
#include "tests/cli/cli.h"

namespace sinter::test::convert_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Convert : public Cli {};

TEST_F(Convert, WritesTheWeightsOfAModel) {
  const std::string saved = model();
  for (const char* name : {"weights.safetensors", "weights.npz"}) {
    EXPECT_THAT(sinter_with({"convert", saved, file(name)}), Prints("4 tensors, 33 numbers: " + file(name) + "\n"));
    EXPECT_THAT(sinter_with({"convert", saved, file(name), "--optimizer-state"}), Prints("14 tensors, 101 numbers: " + file(name) + "\n"));
  }
  EXPECT_THAT(sinter_with({"convert", saved, file("weights.txt")}),
              Fails(failure, HasSubstr("weights.txt] weights are written to .safetensors or .npz files; choose one of these endings")));
}

TEST_F(Convert, ReadsNpzAndSafetensorsAlike) {
  for (const char* ending : {".npz", ".safetensors"}) {
    EXPECT_THAT(sinter_with({"convert", fixture("plain.npz"), file("from_npz") + ending}), Prints(StartsWith("3 tensors, 18 numbers")));
    EXPECT_THAT(sinter_with({"convert", fixture("plain.safetensors"), file("from_safetensors") + ending}),
                Prints(StartsWith("3 tensors, 18 numbers")));
    EXPECT_EQ(read_bytes(file("from_npz") + ending), read_bytes(file("from_safetensors") + ending));
  }
}

TEST_F(Convert, ReadsTheWeightsOfKeras) {
  EXPECT_THAT(sinter_with({"convert", fixture("keras_dense.weights.h5"), file("dense.safetensors")}), Prints(StartsWith("11 tensors, 228 numbers")));
  EXPECT_THAT(sinter_with({"convert", fixture("keras_dense.weights.h5"), file("dense.npz")}), Prints(StartsWith("11 tensors, 228 numbers")));
  EXPECT_THAT(sinter_with({"convert", file("dense.npz"), file("again.safetensors")}), Prints(StartsWith("11 tensors, 228 numbers")));
  EXPECT_EQ(read_bytes(file("again.safetensors")), read_bytes(file("dense.safetensors")));
  EXPECT_THAT(read_bytes(file("dense.safetensors")), HasSubstr("\"dense_1/0\":{\"dtype\":\"F32\",\"shape\":[9,5]"));
  for (const char* old : {"keras2_recurrent.h5", "keras2_recurrent.hdf5"})
    EXPECT_THAT(sinter_with({"convert", fixture(old), file("old.npz")}), Prints(StartsWith("21 tensors, 459 numbers")));
}

}  // namespace
}  // namespace sinter::test::convert_test
