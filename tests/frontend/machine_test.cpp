// What is found on a machine, and what is said of it.
#include "frontend/machine/machine.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "frontend/compile/settings.h"
#include "frontend/machine/peak.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::machine_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::int64_t giga = std::int64_t{1} << 30;

/// A machine with which nothing is wrong.
machine::Report good() {
  machine::Report r;
  r.version = "1.2", r.llvm = "19.1.7", r.processor = "Some CPU", r.level = "x86-64-v4", r.target = "x86_64 some +fma";
  r.threads = {8, 8, 0, "", 8, "the number of processors"};
  r.memory = {16 * giga, 8 * giga, 0, 0, 8 * giga};
  r.cache = {"/home/me/.cache/sinter", "", true, 3, 1000, 1'000'000};
  r.figures = {50, 390, 20, 0.5};
  return r;
}

TEST(Machine, WarnsOfNothingOnAGoodMachine) {
  EXPECT_THAT(machine::warnings(good()), IsEmpty());
  EXPECT_EQ(str(good()),
            "sinter     1.2, LLVM 19.1.7\n"
            "processor  Some CPU, x86-64-v4\n"
            "target     x86_64 some\n"
            "threads    8 threads at most, by the number of processors: 8 processors, 8 in the affinity mask, no quota, OMP_NUM_THREADS is not set\n"
            "memory     8.6 GB of 17.2 GB available, no limit by a control group\n"
            "cache      /home/me/.cache/sinter holds 3 entries, 1.0 KB of at most 1.0 MB\n"
            "speed      50.0 GFLOP/s of f32 multiply-adds on 1 thread, 390.0 on 8; 20.0 GB/s of memory\n");
}

TEST(Machine, WarnsOfEachThing) {
  machine::Report r = good();
  const auto warning = [&] {
    const std::vector<std::string> all = machine::warnings(std::exchange(r, good()));
    return all.size() == 1 ? all[0] : str(all.size(), " warnings");
  };
  r.target_problem = "this CPU has none";
  EXPECT_EQ(warning(), "steps cannot be compiled, only run eagerly: this CPU has none");
  r.level = "x86-64-v3";
  EXPECT_THAT(warning(), StartsWith("the processor has no AVX-512: steps use vectors of 8 numbers"));
  r.threads = {8, 1, 0, "", 1, "the affinity mask (taskset)"};
  EXPECT_EQ(warning(), "steps use 1 thread, by the affinity mask (taskset), of 8 processors; raise that limit to use more");
  r.threads = {1, 1, 0, "", 1, "the number of processors"};
  EXPECT_EQ(warning(), "steps use 1 thread, by the number of processors");
  r.threads = {8, 8, 2, "6", 6, "OMP_NUM_THREADS"};
  EXPECT_EQ(warning(),
            "OMP_NUM_THREADS asks for 6 threads, but this process may use 2 processors: threads then wait for each other; set it to 2 or unset it");
  r.cache.problem = "is a link";
  EXPECT_EQ(warning(),
            "the object cache /home/me/.cache/sinter is a link: every process compiles its steps again; set XDG_CACHE_HOME to a folder of your own");
  r.cache.bytes = 950'000;
  EXPECT_THAT(warning(), StartsWith("the object cache is nearly full"));
  r.memory.free = 1'000'000;
  EXPECT_THAT(warning(), StartsWith("only 1.0 MB of memory are free for this process"));
  r.figures.load = 6;
  EXPECT_THAT(warning(), StartsWith("other programs are running (a load of 6.0 on 8 processors)"));
  r.figures.all_threads = 100;
  EXPECT_THAT(warning(), StartsWith("8 threads reach 2.0 times the GFLOP/s of one"));
  r.variables = {{"SINTER_MODE", "eager", "a mode"}, {"SINTER_MODUS", "eager", ""}};
  EXPECT_EQ(warning(), "there is no setting SINTER_MODUS; the nearest is 'SINTER_MODE'");
}

TEST(Machine, PrintsWhatIsNotAsUsual) {
  machine::Report r = good();
  r.llvm = "", r.target_problem = "no code generator", r.level = "";
  r.threads.quota = 3, r.threads.omp = "3";
  r.memory = {0, 0, 2 * giga, giga, giga};
  r.cache = {"", "is switched off by SINTER_CACHE=off", false, 0, 0, 0};
  r.figures = {};
  r.variables = {{"SINTER_MODE", "eager", "a mode"}};
  const std::string text = str(r);
  for (const char* line :
       {"sinter     1.2, without a code generator\n", "processor  Some CPU\n", "target     none\n", "a quota of 3, OMP_NUM_THREADS=3\n",
        "memory     size not known; the control group has 1.1 GB of at most 2.1 GB\n", "cache      not used: is switched off by SINTER_CACHE=off\n",
        "variable   SINTER_MODE=eager: a mode\n", "warning    steps cannot be compiled, only run eagerly: no code generator\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, testing::Not(HasSubstr("speed")));
}

TEST(Machine, IsAJsonObject) {
  machine::Report r = good();
  r.processor = "bad \xff bytes";
  r.cache.exists = false;
  const nlohmann::json json = nlohmann::json::parse(machine::to_json(r));
  EXPECT_EQ(json["threads"]["used"], 8);
  EXPECT_EQ(json["memory"]["total"], 16 * giga);
  EXPECT_EQ(json["cache"]["entries"], 3);
  EXPECT_EQ(json["figures"]["memory"], 20);
  EXPECT_TRUE(json["warnings"].empty());
}

/// A folder that stands for / and is the cache's place.
class ExaminedMachine : public testing::Test {
 protected:
  machine::Report examine() const { return machine::examine({.measure = false, .files = root_.path}); }
  std::string cache() const { return root_ / "cache/sinter"; }

  const TemporaryFolder root_;
  const Environment place_{"XDG_CACHE_HOME", (root_ / "cache").c_str()};
};

TEST_F(ExaminedMachine, ReadsTheSystemsFiles) {
  fs::create_directories(root_ / "proc/self");
  fs::create_directories(root_ / "sys/fs/cgroup/job");
  std::ofstream(root_ / "proc/cpuinfo") << "processor : 0\nmodel name : Test CPU 9000\n";
  std::ofstream(root_ / "proc/meminfo") << "MemTotal: 2048 kB\nMemAvailable: 1024 kB\n";
  std::ofstream(root_ / "proc/loadavg") << "3.5 1 1 1/200 4\n";
  std::ofstream(root_ / "proc/self/cgroup") << "0::/job\n";
  std::ofstream(root_ / "sys/fs/cgroup/job/memory.max") << "1048576\n";
  std::ofstream(root_ / "sys/fs/cgroup/job/cpu.max") << "100000 100000\n";
  const machine::Report report = examine();
  EXPECT_EQ(report.processor, "Test CPU 9000");
  const machine::Memory& memory = report.memory;
  EXPECT_EQ(memory.total, 2048 * 1024);
  EXPECT_EQ(memory.available, 1024 * 1024);
  EXPECT_EQ(memory.group, 1048576);
  EXPECT_EQ(memory.group_used, 0);
  EXPECT_LE(memory.free, 1024 * 1024);
  EXPECT_EQ(report.threads.quota, 1);
  EXPECT_EQ(report.figures.load, 3.5);
  EXPECT_EQ(report.figures.one_thread, 0);
  if (report.threads.omp.empty()) {
    EXPECT_EQ(report.threads.used, 1);
  }
}

TEST_F(ExaminedMachine, SaysWhereTheThreadsComeFrom) {
  const Environment omp("OMP_NUM_THREADS", "5");
  const machine::Threads threads = examine().threads;
  EXPECT_EQ(threads.used, 5);
  EXPECT_EQ(threads.omp, "5");
  EXPECT_GE(threads.processors, threads.affinity);
  EXPECT_GE(threads.affinity, 1);
  EXPECT_EQ(threads.why, "OMP_NUM_THREADS");
  const Environment wrong("OMP_NUM_THREADS", "x");
  EXPECT_THAT(error_of([&] { examine(); }), HasSubstr("[OMP_NUM_THREADS] must be a number of threads"));
}

TEST_F(ExaminedMachine, LooksAtTheCacheWithoutMakingIt) {
  EXPECT_FALSE(examine().cache.exists);
  EXPECT_EQ(examine().cache.problem, "");
  EXPECT_FALSE(fs::exists(cache()));
  fs::create_directories(cache());
  std::ofstream(cache() + "/0123456789abcdef0123456789abcdef.code") << "12345";
  std::ofstream(cache() + "/other") << "1234567890";
  const machine::Cache found = examine().cache;
  EXPECT_TRUE(found.exists);
  EXPECT_EQ(found.entries, 1);
  EXPECT_EQ(found.bytes, 5u);
  const Environment size("SINTER_CACHE_SIZE", "3M");
  const machine::Cache limited = examine().cache;
  EXPECT_EQ(limited.limit, 3u << 20);
  ::chmod(cache().c_str(), 0777);
  EXPECT_EQ(examine().cache.problem, "can be written to by others");
  fs::remove_all(cache());
  fs::create_directory_symlink(root_.path, cache());
  EXPECT_EQ(examine().cache.problem, "is a link");
  fs::remove(cache());
  std::ofstream(cache()) << "x";
  EXPECT_EQ(examine().cache.problem, "is no folder");
  const Environment off("SINTER_CACHE", "off");
  EXPECT_EQ(examine().cache.problem, "is switched off by SINTER_CACHE=off");
}

TEST_F(ExaminedMachine, ListsVariablesWithTheirMeaning) {
  const Environment mode("SINTER_MODE", "eager"), unknown("SINTER_UNKNOWN", "7"), unset("SINTER_DUMP", "");
  std::vector<std::string> names;
  for (const machine::Variable& v : examine().variables) {
    if (v.name != "OMP_NUM_THREADS" && v.name.find("CACHE") == v.name.npos) names.push_back(v.name + "=" + v.value);
    EXPECT_EQ(v.meaning, meaning_of_variable(v.name));
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"SINTER_MODE=eager", "SINTER_UNKNOWN=7"}));
  EXPECT_THAT(names, testing::Not(testing::Contains(StartsWith("SINTER_DUMP"))));
  for (const std::string& name : known_variables()) EXPECT_NE(meaning_of_variable(name), "") << name;
}

TEST(Machine, IsMeasured) {
  const machine::Figures figures = machine::examine().figures;
  EXPECT_GE(figures.one_thread, 0);  // 0 without a fused multiply-add
  EXPECT_GT(figures.memory, 0);
  EXPECT_GT(machine::memory_gigabytes_per_second(1, 0), 0);
  EXPECT_EQ(machine::peak_gflops(1, 0) > 0, figures.one_thread > 0);
}

}  // namespace
}  // namespace sinter::test::machine_test
