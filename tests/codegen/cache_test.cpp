// The object cache as steps see it: code lasts from process to process, and only what was made for this step, this CPU and this version is run.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "codegen/compile.h"
#include "codegen/key.h"
#include "codegen/step_code.h"
#include "frontend/compile/variant.h"
#include "runtime/file/object_entry.h"
#include "tests/codegen/graphs.h"
#include "tests/codegen/targets.h"
#include "tests/frontend/sample_graph.h"
#include "tests/support/bytes.h"

namespace sinter::test::cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a process that runs a step of mlp_b500 says (process/main.cpp).
nlohmann::json other_process() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string path = SINTER_OTHER_PROCESS;
  std::array<char*, 2> arguments{path.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;) text.append(piece.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return nlohmann::json::parse(text, nullptr, false);
}

class CacheTest : public ::testing::Test {
 protected:
  const TemporaryFolder parent_;
  const fs::path folder_ = fs::path(parent_.path) / "sinter";
  const Environment home_{"XDG_CACHE_HOME", parent_.path.c_str()}, on_{"SINTER_CACHE", "on"};
  std::vector<std::string> lines_;

  struct Outcome {
    bool hit;
    std::vector<float> values;
    std::string explained;
  };
  /// A training step of a small model, compiled anew.
  Outcome train() {
    SmallModel m({.log = [this](const std::string& line) { lines_.push_back(line); }});
    m.step(random({4, 20}, 1), random_labels(4, 7, 2));
    const std::string text = m.step.explain();
    return {text.find("(object cache: hit)") != std::string::npos, m.values(), text};
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    if (fs::exists(folder_))
      for (const auto& file : fs::directory_iterator(folder_)) paths.push_back(file.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  /// The entries that f adds.
  template <class F>
  std::vector<fs::path> added_by(F&& f) const {
    const std::vector<fs::path> before = entries();
    f();
    std::vector<fs::path> after = entries(), added;
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(added));
    return added;
  }
};

// ---- from process to process ----

TEST_F(CacheTest, ASecondProcessCompilesNothing) {
  const nlohmann::json first = other_process(), second = other_process();
  EXPECT_EQ(first["hits"], 0);
  EXPECT_EQ(first["misses"], 1);
  EXPECT_EQ(first["written"], 1);
  EXPECT_EQ(second["hits"], 1);
  EXPECT_EQ(second["misses"], 0) << "0 compiles";
  EXPECT_EQ(second["written"], 0);
  EXPECT_EQ(second["rejected"], 0);
  EXPECT_EQ(first["loss"], second["loss"]);
  EXPECT_THAT(second["explain"].get<std::string>(), HasSubstr("(object cache: hit)"));
  EXPECT_THAT(second["explain"].get<std::string>(), HasSubstr("object cache, this process so far: 1 hits, 0 misses, 0 written, 0 rejected, 0 swept"));
  EXPECT_THAT(second["log"], IsEmpty());
}

TEST_F(CacheTest, AHitExplainsTheSame) {
  const auto without_times = [](std::string text) {
    const std::size_t products = text.find("products:");
    return text.substr(products, text.find("compile time:") - products);
  };
  const Outcome first = train(), second = train();
  EXPECT_FALSE(first.hit);
  EXPECT_TRUE(second.hit);
  EXPECT_EQ(first.values, second.values);
  EXPECT_THAT(first.explained, HasSubstr("products:"));
  EXPECT_EQ(without_times(first.explained), without_times(second.explained));
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(CacheTest, SeveralThreadsCompileAtOnce) {
  const std::vector<float> wanted = train().values;
  for (const fs::path& entry : entries()) fs::remove(entry);
  std::vector<std::unique_ptr<SmallModel>> models;
  for (int i = 0; i < 4; ++i) models.push_back(std::make_unique<SmallModel>());
  const Tensor x = random({4, 20}, 1), y = random_labels(4, 7, 2);
  std::vector<std::thread> threads;
  for (const auto& model : models) threads.emplace_back([&] { model->step(x, y); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& model : models) EXPECT_EQ(model->values(), wanted);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_TRUE(train().hit);
}

// ---- what must not be run ----

/// Gives back one text whatever is asked for, and remembers what becomes of it.
struct FixedStore : ObjectStore {
  std::string code;
  std::vector<std::string> rejections;
  std::map<std::string, std::string> kept;  ///< by source
  explicit FixedStore(std::string text) : code(std::move(text)) {}
  std::optional<std::string> find(const ObjectKey&) override { return code; }
  void keep(const ObjectKey& key, std::string_view bytes) override { kept[key.source] = bytes; }
  void reject(const ObjectKey&, const std::string& why) override { rejections.push_back(why); }
};

TEST(CodeStore, WhatIsNoCodeOfThisMachineIsNeverRun) {
  const ir::Graph graph = training_graph({20, 33, 7});
  const std::string own = codegen::emit_object(graph, "x86-64-v3");
  std::string other_entry = own;
  for (std::size_t at = 0; (at = other_entry.find("sinter_step", at)) != std::string::npos;) other_entry.replace(at, 11, "another_one");
  const struct {
    std::string code, why;
  } cases[] = {{"", "it is no code of a step"},
               {"no code", "it is no code of a step"},
               {codegen::to_bytes({}), "it is no code of a step"},
               {codegen::to_bytes({{own}, {}}).substr(1), "it is no code of a step"},
               {codegen::to_bytes({{own}, {}}) + "x", "it is no code of a step"},
               {codegen::to_bytes({{"no object"}, {}}), "not recognized as a valid object"},
               {codegen::to_bytes({{own.substr(0, 40)}, {}}), ""},
               {codegen::to_bytes({{codegen::emit_object(graph, "aarch64")}, {}}), "it is for aarch64, this machine is x86_64"},
               {codegen::to_bytes({{own, codegen::emit_object(graph, "aarch64")}, {}}), "it is for aarch64, this machine is x86_64"},
               {codegen::to_bytes({{other_entry}, {}}), "cannot link the step"}};
  for (const auto& c : cases) {
    FixedStore store(c.code);
    const codegen::Compiled compiled = codegen::compile(graph, {.store = &store});
    EXPECT_THAT(store.rejections, ElementsAre(HasSubstr(c.why)));
    EXPECT_FALSE(compiled.report.cache_hit);
    EXPECT_NE(compiled.image.entry, nullptr);
    ASSERT_EQ(store.kept.size(), 1u) << "made anew, and kept";
    FixedStore good(store.kept.begin()->second);
    EXPECT_TRUE(codegen::compile(graph, {.store = &good}).report.cache_hit);
    EXPECT_THAT(good.rejections, IsEmpty());
  }
}

TEST_F(CacheTest, EachTargetHasItsEntryAndNeverRunsThatOfAnother) {
  std::vector<std::optional<std::string>> targets{std::nullopt};
  for (const std::string& target : runnable_targets()) targets.emplace_back(target);
  const auto train_for = [&](const std::optional<std::string>& target) {
    const Environment wish("SINTER_TARGET", target ? target->c_str() : "");
    return train();
  };
  std::vector<fs::path> files;
  std::vector<std::string> contents;
  const std::vector<float> wanted = [&] {
    std::vector<float> values;
    for (const auto& target : targets) {
      const auto added = added_by([&] {
        const Outcome outcome = train_for(target);
        EXPECT_FALSE(outcome.hit);
        values = outcome.values;
      });
      EXPECT_EQ(added.size(), 1u);
      files.push_back(added.front());
      contents.push_back(read_bytes(files.back()));
      EXPECT_TRUE(train_for(target).hit);
    }
    return values;
  }();
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (std::size_t k = 0; k < targets.size(); ++k) {
      if (i == k) continue;
      lines_.clear();
      write_bytes(files[i], contents[k]);  // the key of one target, the code of another
      const auto before = cache_statistics();
      const Outcome outcome = train_for(targets[i]);
      const auto after = cache_statistics();
      EXPECT_FALSE(outcome.hit);
      EXPECT_EQ(after.rejected - before.rejected, 1u);
      EXPECT_EQ(after.hits, before.hits);
      EXPECT_THAT(lines_, ElementsAre(HasSubstr(files[i].string() + " is for another CPU, '")));
      EXPECT_EQ(outcome.values, wanted);
      EXPECT_TRUE(train_for(targets[i]).hit) << "made anew";
    }
}

TEST_F(CacheTest, CodeOfAnotherVersionIsNotRun) {
  const ir::Graph graph = training_graph({20, 33, 7});
  const CompileOptions options{.settings = settings(), .log = [this](const std::string& line) { lines_.push_back(line); }};
  const auto compiled = [&] {
    Traced traced;
    traced.graph = graph;
    return compile_graph(std::move(traced), options);
  };
  EXPECT_EQ(compiled().cache, "miss");
  const CompiledGraph again = compiled();
  EXPECT_EQ(again.cache, "hit");
  ASSERT_EQ(entries().size(), 1u);
  ObjectKey key = codegen::object_key(again.graph, {.checked = settings().checked}, again.report.target);
  ASSERT_EQ(entries().front().filename(), runtime::entry_name(key));
  key.version += " of tomorrow";
  write_bytes(entries().front(), runtime::to_entry(key, "code that would crash"));
  EXPECT_EQ(compiled().cache, "miss");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr(" is by another version, '" + key.version + "'; it is removed and the step compiled again")));
  EXPECT_EQ(compiled().cache, "hit");
}

TEST_F(CacheTest, ADamagedEntryIsRebuiltWithOneLine) {
  const std::vector<float> wanted = train().values;
  ASSERT_EQ(entries().size(), 1u);
  std::fstream(entries().front(), std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('?');
  const Outcome outcome = train();
  EXPECT_FALSE(outcome.hit);
  EXPECT_EQ(outcome.values, wanted);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("has a wrong checksum; it is removed and the step compiled again")));
  EXPECT_TRUE(train().hit);
}

TEST_F(CacheTest, AFolderThatOthersMayWriteToIsNotUsedAndThatIsSaidOnce) {
  train();
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  const Outcome outcome = train();
  EXPECT_FALSE(outcome.hit);
  EXPECT_THAT(outcome.explained, HasSubstr("(object cache: the folder can be written to by others)"));
  train();
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("can be written to by others, so it is not used")));
}

// ---- settings ----

TEST_F(CacheTest, CanBeSwitchedOff) {
  const Environment off("SINTER_CACHE", "off");
  const auto before = cache_statistics();
  EXPECT_FALSE(train().hit);
  EXPECT_THAT(train().explained, HasSubstr("(object cache: off)"));
  EXPECT_EQ(cache_statistics(), before);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CacheTest, HasNoPlaceWithoutAHome) {
  const Environment cache("XDG_CACHE_HOME", "relative"), home("HOME", "/some/home");
  EXPECT_EQ(settings().cache.folder, "/some/home/.cache/sinter") << "a path that is not absolute is ignored";
  const Environment none("HOME", "");
  EXPECT_EQ(settings().cache.folder, "");
  EXPECT_THAT(train().explained, HasSubstr("(object cache: off)"));
}

TEST_F(CacheTest, SettingsAreChecked) {
  {
    const Environment bad("SINTER_CACHE", "maybe");
    EXPECT_THAT(error_of([&] { train(); }), HasSubstr("[SINTER_CACHE] must be 'on' or 'off', got 'maybe'"));
  }
  for (const char* size : {"512", "M", "-1M", "0M", "1.5G", "2T", "1025G", "99999999999999999999M", "1M ", "1m"}) {
    const Environment bad("SINTER_CACHE_SIZE", size);
    EXPECT_THAT(error_of([&] { train(); }),
                HasSubstr(str("[SINTER_CACHE_SIZE] must be a size from 1M to 1024G, such as 512M or 2G, got '", size, "'")));
  }
  EXPECT_EQ(settings().cache.bytes, std::uint64_t{512} << 20);
  for (const auto& [text, bytes] :
       std::map<const char*, std::uint64_t>{{"1M", 1 << 20}, {"2G", std::uint64_t{2} << 30}, {"1024G", std::uint64_t{1} << 40}}) {
    const Environment size("SINTER_CACHE_SIZE", text);
    EXPECT_EQ(settings().cache.bytes, bytes);
  }
}

TEST_F(CacheTest, KeepsToItsSize) {
  const Environment small("SINTER_CACHE_SIZE", "1M");
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  const fs::path old = folder_ / (std::string(32, '0') + ".code");
  write_bytes(old, std::string((1 << 20) - 1000, 'x'));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto before = cache_statistics();
  train();
  EXPECT_EQ(cache_statistics().swept - before.swept, 1u);
  EXPECT_FALSE(fs::exists(old)) << "used longest ago";
  EXPECT_TRUE(train().hit);
}

}  // namespace
}  // namespace sinter::test::cache_test
