// A report on the machine as text and as JSON, and what it warns of.
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "frontend/compile/settings.h"
#include "frontend/core/nearest.h"
#include "frontend/machine/machine.h"
#include "ir/printable.h"
#include "ir/size_text.h"

namespace sinter::machine {

namespace {

template <class Bytes>
std::string size(Bytes bytes) {
  return size_text(static_cast<double>(bytes));
}

std::string rounded(double number) {
  TextStream out;
  out << std::fixed << std::setprecision(1) << number;
  return out.str();
}

std::string text_of(const Threads& t) {
  std::string out = str(t.used, t.used == 1 ? " thread" : " threads", " at most, by ", t.why, ": ", t.processors,
                        t.processors == 1 ? " processor" : " processors", ", ", t.affinity, " in the affinity mask, ");
  out += t.quota ? str("a quota of ", t.quota) : std::string("no quota");
  return out + (t.omp.empty() ? ", OMP_NUM_THREADS is not set" : str(", OMP_NUM_THREADS=", printable(t.omp)));
}

std::string text_of(const Memory& m) {
  const std::string group =
      m.group ? str("; the control group has ", size(m.group_used), " of at most ", size(m.group)) : ", no limit by a control group";
  return str(m.total ? str(size(m.available), " of ", size(m.total), " available") : std::string("size not known"), group);
}

std::string text_of(const Cache& c) {
  const std::string place = c.folder.empty() ? "" : printable(c.folder) + " ";
  if (!c.problem.empty()) return str("not used: ", place, c.problem);
  return str(place, c.exists ? "" : "(not made yet) ", "holds ", c.entries, c.entries == 1 ? " entry, " : " entries, ", size(c.bytes), " of at most ",
             size(c.limit));
}

/// Triple and CPU, without the list of features.
std::string short_target(const std::string& target) { return target.substr(0, target.find(' ', target.find(' ') + 1)); }

nlohmann::ordered_json json_of(const Report& r) {
  nlohmann::ordered_json variables = nlohmann::ordered_json::array();
  for (const Variable& v : r.variables) variables.push_back({{"name", v.name}, {"value", v.value}, {"meaning", v.meaning}});
  const Threads& t = r.threads;
  const Memory& m = r.memory;
  const Cache& c = r.cache;
  return {
      {"version", r.version},
      {"llvm", r.llvm},
      {"processor", r.processor},
      {"level", r.level},
      {"target", r.target},
      {"target_problem", r.target_problem},
      {"threads", {{"processors", t.processors}, {"affinity", t.affinity}, {"quota", t.quota}, {"omp", t.omp}, {"used", t.used}, {"why", t.why}}},
      {"memory", {{"total", m.total}, {"available", m.available}, {"group", m.group}, {"group_used", m.group_used}, {"free", m.free}}},
      {"cache", {{"folder", c.folder}, {"problem", c.problem}, {"exists", c.exists}, {"entries", c.entries}, {"bytes", c.bytes}, {"limit", c.limit}}},
      {"variables", std::move(variables)},
      {"figures",
       {{"one_thread", r.figures.one_thread}, {"all_threads", r.figures.all_threads}, {"memory", r.figures.memory}, {"load", r.figures.load}}},
      {"warnings", warnings(r)}};
}

}  // namespace

std::vector<std::string> warnings(const Report& r) {
  std::vector<std::string> found;
  if (!r.target_problem.empty()) found.push_back(str("steps cannot be compiled, only run eagerly: ", r.target_problem));
  if (r.level == "x86-64-v3") found.push_back("the processor has no AVX-512: steps use vectors of 8 numbers, not 16, which is slower but complete");
  const Threads& t = r.threads;
  if (t.used == 1)
    found.push_back(
        str("steps use 1 thread, by ", t.why, t.processors > 1 ? str(", of ", t.processors, " processors; raise that limit to use more") : ""));
  const int usable = t.quota ? std::min(t.affinity, t.quota) : t.affinity;
  if (t.used > usable)
    found.push_back(str("OMP_NUM_THREADS asks for ", t.used, " threads, but this process may use ", usable,
                        usable == 1 ? " processor" : " processors", ": threads then wait for each other; set it to ", usable, " or unset it"));
  if (!r.cache.problem.empty())
    found.push_back(str("the object cache ", r.cache.folder.empty() ? "" : printable(r.cache.folder) + " ", r.cache.problem,
                        ": every process compiles its steps again; set XDG_CACHE_HOME to a folder of your own"));
  if (r.cache.problem.empty() && static_cast<double>(r.cache.bytes) > 0.9 * static_cast<double>(r.cache.limit))
    found.push_back(str("the object cache is nearly full: what was used least recently is dropped; a larger SINTER_CACHE_SIZE keeps more"));
  constexpr std::int64_t little = std::int64_t{1} << 30;
  if (r.memory.total && r.memory.free < little)
    found.push_back(
        str("only ", size(r.memory.free), " of memory are free for this process; end other programs or raise the limit of its control group"));
  if (r.figures.load > 0.5 * t.processors)
    found.push_back(str("other programs are running (a load of ", rounded(r.figures.load), " on ", t.processors,
                        t.processors == 1 ? " processor" : " processors", "): measured times will be longer than they need be, and vary"));
  if (t.used > 1 && r.figures.one_thread > 0 && r.figures.all_threads < 0.7 * t.used * r.figures.one_thread)
    found.push_back(str(
        t.used, " threads reach ", rounded(r.figures.all_threads / r.figures.one_thread),
        " times the GFLOP/s of one: processors share a core, slow down together (turbo), or are busy; times of few threads say little about many"));
  for (const Variable& v : r.variables)
    if (v.meaning.empty()) found.push_back(str("there is no setting ", printable(v.name), nearest_hint(v.name, known_variables())));
  return found;
}

std::ostream& operator<<(std::ostream& stream, const Report& r) {
  TextStream out;
  const auto line = [&](const char* name, const std::string& text) { out << std::left << std::setw(11) << name << text << "\n"; };
  line("sinter", r.version + (r.llvm.empty() ? ", without a code generator" : ", LLVM " + r.llvm));
  line("processor", printable(r.processor) + (r.level.empty() ? "" : ", " + r.level));
  line("target", r.target_problem.empty() ? short_target(r.target) : "none");
  line("threads", text_of(r.threads));
  line("memory", text_of(r.memory));
  line("cache", text_of(r.cache));
  if (r.figures.memory > 0)
    line("speed", str(rounded(r.figures.one_thread), " GFLOP/s of f32 multiply-adds on 1 thread, ", rounded(r.figures.all_threads), " on ",
                      r.threads.used, "; ", rounded(r.figures.memory), " GB/s of memory"));
  for (const Variable& v : r.variables) line("variable", str(printable(v.name), "=", printable(v.value), v.meaning.empty() ? "" : ": ", v.meaning));
  for (const std::string& warning : warnings(r)) line("warning", warning);
  return stream << out.str();
}

std::string to_json(const Report& report) { return json_of(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace sinter::machine
