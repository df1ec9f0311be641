// sinter completion: what bash completes with the script that it prints.
#include "tests/cli/cli.h"

namespace sinter::test::completion_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Completion : public Cli {
 protected:
  Completion() {
    const Finished printed = sinter_with({"completion", "bash"});
    EXPECT_EQ(printed.status, 0) << printed;
    write_bytes(file("script"), printed.out);
    write_bytes(file("photo.png"), "");
    std::filesystem::create_directory(file("photos"));
  }
  /// What bash offers for the last of these words, a line each, in a folder with photo.png and photos/.
  std::string completed(const std::string& words) const {
    const Finished finished = run("/bin/bash", {"--norc", "-euc",
                                                "cd " + folder.path + " && . ./script && COMP_WORDS=(" + words +
                                                    ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _sinter && printf '%s\\n' \"${COMPREPLY[@]}\""});
    EXPECT_EQ(finished.err, "") << words;
    EXPECT_EQ(finished.status, 0) << words;
    return finished.out;
  }
};

TEST_F(Completion, OfCommands) {
  EXPECT_EQ(completed("sinter tr"), "train\n");
  EXPECT_EQ(completed("sinter co"), "consume\nconvert\ncompletion\n");
  EXPECT_THAT(completed("sinter ''"), AllOf(HasSubstr("predict\n"), HasSubstr("--version\n")));
  EXPECT_EQ(completed("sinter completion ''"), "bash\n");
}

TEST_F(Completion, OfOptions) {
  EXPECT_EQ(completed("sinter train --ep"), "--epochs\n");
  EXPECT_EQ(completed("sinter train --quiet --vali"), "--validation-split\n");
  EXPECT_THAT(completed("sinter train ''"), AllOf(HasSubstr("--data\n"), Not(HasSubstr("--stream\n"))));
  EXPECT_EQ(completed("sinter predict model.sinter --stre"), "--stream\n");
}

TEST_F(Completion, OfChoices) {
  EXPECT_EQ(completed("sinter train --optimizer ''"), "adam\nadamw\nrmsprop\nsgd\n");
  EXPECT_EQ(completed("sinter train --optimizer r"), "rmsprop\n");
  EXPECT_EQ(completed("sinter train --optimizer = s"), "sgd\n");  // as bash parts --optimizer=s
  EXPECT_EQ(completed("sinter train --split ="), "random\nstratified\n");
  EXPECT_EQ(completed("sinter train --epochs ''"), "\n");  // a number
}

TEST_F(Completion, OfFilesAndFolders) {
  EXPECT_EQ(completed("sinter train --data pho"), "photo.png\nphotos\n");
  EXPECT_EQ(completed("sinter train -o pho"), "photo.png\nphotos\n");
  EXPECT_EQ(completed("sinter train --checkpoints pho"), "photos\n");
  EXPECT_EQ(completed("sinter predict pho"), "photo.png\nphotos\n");
}

TEST_F(Completion, OfOneShell) {
  EXPECT_THAT(sinter_with({"completion", "fish"}), Fails(bad_command_line, HasSubstr("[shell] must be bash, got 'fish'")));
  EXPECT_THAT(sinter_with({"completion"}), Fails(bad_command_line, HasSubstr("[completion] needs shell (The shell)")));
}

}  // namespace
}  // namespace sinter::test::completion_test
