// Files that are sound but not what a command is for: arrays of other shapes, settings of other types.
#include "tests/cli/cli.h"

namespace sinter::test::foreign_files_test {
namespace {

using testing::HasSubstr;

class ForeignFiles : public Cli {
 protected:
  /// An IDX file of bytes.
  std::string idx(const std::string& name, const std::string& extents, std::size_t count) const {
    std::string bytes{0, 0, 8, static_cast<char>(extents.size())};
    for (const char extent : extents) bytes += std::string{0, 0, 0, extent};
    write_bytes(file(name), bytes + std::string(count, '\1'));
    return file(name);
  }
};

TEST_F(ForeignFiles, ArraysHaveSamplesAndClassNumbersOneEach) {
  const std::string samples = idx("samples", "\2\3", 6), labels = idx("labels", "\2\1", 2);
  EXPECT_THAT(sinter_with({"train", "--data", samples, "--labels", labels}),
              Fails(failure, HasSubstr("labels] class numbers must be [samples], got u8[2,1]")));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }";
  header.resize(53 + 64, ' ');
  write_bytes(file("scalar.npy"),
              std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() + 1) + '\0' + header + "\n" + std::string(4, '\0'));
  EXPECT_THAT(sinter_with({"train", "--data", file("scalar.npy"), "--labels", labels}),
              Fails(failure, HasSubstr("scalar.npy] an array must have samples as its first dimension, got f32[]")));
}

TEST_F(ForeignFiles, SettingsAreNumbersTextsAndLists) {
  write_bytes(file("settings.json"), R"({"epochs": {"first": 3}})");
  EXPECT_THAT(sinter_with(training() + Arguments{"--config", file("settings.json")}),
              Fails(failure, HasSubstr("'epochs' must be a number, a text, true, false or a list of these, got {\"first\":3}")));
  for (const char* value : {"true", "false"}) {
    write_bytes(file("settings.json"), std::string(R"({"hidden": )") + value + "}");
    EXPECT_THAT(sinter_with(training() + Arguments{"--config", file("settings.json")}),
                Fails(failure, HasSubstr(std::string("'hidden' must be a number, a text or a list of these, got ") + value)));
  }
}

}  // namespace
}  // namespace sinter::test::foreign_files_test
