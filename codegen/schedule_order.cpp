#include "codegen/schedule_order.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/chunk_sizes.h"
#include "codegen/kernels/kinds.h"
#include "codegen/touched_rows.h"
#include "ir/kernel.h"
#include "ir/ranks.h"

namespace sinter::codegen {

namespace {

using ir::Graph;
using ir::NodeId;

/// Which kernels run before which.
class Edges {
 public:
  void add(std::size_t before, std::size_t after) {
    if (successors_.size() <= std::max(before, after)) {
      successors_.resize(std::max(before, after) + 1);
      predecessors_.resize(successors_.size());
    }
    successors_[before].push_back(after);
    predecessors_[after].push_back(before);
  }
  const std::vector<std::size_t>& successors(std::size_t k) const { return k < successors_.size() ? successors_[k] : none_; }
  const std::vector<std::size_t>& predecessors(std::size_t k) const { return k < predecessors_.size() ? predecessors_[k] : none_; }

 private:
  std::vector<std::vector<std::size_t>> successors_, predecessors_;
  std::vector<std::size_t> none_;
};

class Order {
 public:
  Order(const Graph& graph, Schedule& schedule)
      : graph_(graph), s_(schedule), producer_(schedule.values.size(), none), readers_(schedule.values.size()) {
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) {
      const Kernel& kernel = s_.kernels[k];
      for (const Write& write : kernel.writes) producer_[write.value] = k;
      for (const Memory& memory : kernel.memory)
        if (memory.purpose == Memory::collected || (memory.purpose == Memory::slots && kernel.is<Kernel::Partial>()) ||
            (memory.purpose == Memory::packed && kernel.is<Kernel::Pack>()))
          producer_[memory.value] = k;
    }
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) add_edges(k);
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) ranks_.settle(edges_, k);
  }

  void run() {
    place_state_writes();
    mark_touched_rows(graph_, s_);
    const ChunkSizes sizes(graph_, s_);
    for (Kernel& kernel : s_.kernels) kernel.work = sizes.work_of(kernel);
    assign_phases(sizes);
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  /// Of a kernel that the list just got.
  void add_edges(std::size_t k) {
    ranks_.add_last();
    for (const Read& read : s_.kernels[k].reads) {
      readers_[s_.memory_of(read.value)].push_back(k);
      if (const std::size_t p = producer(read); p != none && p != k) edges_.add(p, k);
    }
  }

  /// The kernel that writes what is read; none for leaves.
  std::size_t producer(const Read& read) const { return producer_[s_.memory_of(read.value)]; }

  bool reaches(std::size_t from, std::size_t to) const {
    const std::vector<std::size_t>& next = edges_.successors(from);
    return std::find(next.begin(), next.end(), to) != next.end() || ranks_.path_around(edges_, from, to).has_value();
  }

  /// A state is overwritten after every reader of its old value; if that is impossible, its new value goes to memory first.
  void place_state_writes() {
    for (std::size_t k = 0, count = s_.kernels.size(); k < count; ++k)
      for (std::size_t w = 0; w < s_.kernels[k].writes.size(); ++w) {
        const Write write = s_.kernels[k].writes[w];
        if (s_.values[write.value].home != StoredValue::Home::state) continue;
        const ValueId old = s_.value_of[graph_.state_node(s_.values[write.value].index)];
        bool in_place = true;
        for (const Read& read : s_.kernels[k].reads) in_place = in_place && (s_.memory_of(read.value) != old || read.same_place);
        for (const std::size_t reader : readers_[old]) in_place = in_place && (reader == k || !reaches(k, reader));
        std::size_t writer = k;
        if (!in_place) writer = write_later(k, w);
        for (const std::size_t reader : readers_[old]) {
          if (reader == writer) continue;
          anti_.emplace_back(reader, writer);
          edges_.add(reader, writer);
          ranks_.settle(edges_, reader);
        }
      }
  }

  std::size_t write_later(std::size_t k, std::size_t w) {
    const Write write = s_.kernels[k].writes[w];
    const auto temporary = static_cast<ValueId>(s_.values.size());
    s_.values.push_back({StoredValue::Home::memory, 0, s_.values[write.value].type, write.node, "later " + s_.values[write.value].name});
    s_.kernels[k].writes[w].value = temporary;
    producer_.push_back(k);
    readers_.emplace_back();
    Kernel copy;
    copy.role = Kernel::Copy{};
    copy.kind = &the_kind<PointwiseKernel>;
    copy.shape = s_.values[write.value].type.shape;
    copy.domain = domain_of(copy.shape, s_.divides_samples);
    copy.reads = {{.value = temporary, .same_rows = true, .same_place = true}};
    copy.writes = {{write.node, write.value}};
    // Readers of the node keep reading what the kernel wrote.
    if (s_.value_of[write.node] == write.value) s_.value_of[write.node] = temporary;
    for (const std::size_t reader : readers_[write.value])
      for (Read& read : s_.kernels[reader].reads)
        if (read.value == write.value) read.value = temporary;
    for (StoredValue& value : s_.values)
      if (value.base == write.value) value.base = temporary;
    std::swap(readers_[write.value], readers_[temporary]);
    producer_[write.value] = s_.kernels.size();
    s_.kernels.push_back(std::move(copy));
    add_edges(s_.kernels.size() - 1);
    return s_.kernels.size() - 1;
  }

  /// Whether threads share the ranges of a kernel, which then has a loop of its own.
  static bool is_alone(const Kernel& kernel) { return kernel.cut.every_range || kernel.cuts_steps(); }

  bool joinable(const Kernel& before, const Kernel& after, const Read& read) const {
    return before.domain == after.domain && before.pace == after.pace && (read.same_rows || after.domain.units == Dim(1)) &&
           !before.is<Kernel::Partial>() && !is_alone(before) && !is_alone(after) && !before.finishes() && !after.finishes();
  }

  /// Whether a kernel is as fast over any number of samples, and no sum tells over how many it was.
  static bool has_any_pace(const Kernel& kernel) {
    const auto is_one_of = [&](auto... kinds) { return ((kernel.kind == kinds) || ...); };
    return kernel.is<Kernel::Group>() && kernel.domain.samples && kernel.pace == Pace::rows &&
           is_one_of(&the_kind<PointwiseKernel>, &the_kind<IndexedKernel>, &the_kind<ReductionKernel>, &the_kind<SoftmaxKernel>,
                     &the_kind<ArgmaxKernel>);
  }

  /// Such kernels go at the pace of the images that they are computed from, or that are computed from them: one loop has them all.
  void adopt_paces(const std::vector<std::size_t>& order) {
    const auto have_pace = [&](const std::vector<Read>& reads, Pace pace) {
      return std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
        const std::size_t p = producer(read);
        return p != none && read.same_rows && s_.kernels[p].domain.samples && s_.kernels[p].pace == pace;
      });
    };
    for (const std::size_t k : order)
      if (Kernel& kernel = s_.kernels[k]; has_any_pace(kernel) && have_pace(kernel.reads, Pace::images)) kernel.pace = Pace::images;
    for (auto k = order.rbegin(); k != order.rend(); ++k) {
      if (!s_.kernels[*k].domain.samples || s_.kernels[*k].pace != Pace::images) continue;
      for (const Read& read : s_.kernels[*k].reads)
        if (const std::size_t p = producer(read); p != none && p != *k && read.same_rows && has_any_pace(s_.kernels[p]))
          if (Kernel& before = s_.kernels[p]; !have_pace(before.reads, Pace::rows)) before.pace = Pace::images;
    }
  }

  /// The first phase in which a kernel can run.
  std::size_t earliest(std::size_t k, std::size_t first) const {
    const Kernel& kernel = s_.kernels[k];
    std::size_t phase = first;
    for (const Read& read : kernel.reads) {
      const std::size_t p = producer(read);
      if (p == none || p == k) continue;
      const bool same = joinable(s_.kernels[p], kernel, read) || (kernel.finishes() && p == std::get<Kernel::Combine>(kernel.role).parts);
      phase = std::max(phase, s_.kernels[p].phase + (same ? 0 : 1));
    }
    for (const std::size_t before : overwrites_after_[k]) phase = std::max(phase, s_.kernels[before].phase + 1);
    return phase;
  }

  void assign_phases(const ChunkSizes& sizes) {
    std::vector<std::size_t> order = topological();
    adopt_paces(order);
    std::size_t phases = 0;
    overwrites_after_.resize(s_.kernels.size());
    for (const auto& [before, after] : anti_) overwrites_after_[after].push_back(before);
    // Weights are packed in a phase before all others, so that kernels that read them can still share a loop with kernels that do not.
    const auto packs_leaf = [&](const Kernel& kernel) { return kernel.is<Kernel::Pack>() && producer(kernel.reads.front()) == none; };
    const std::size_t first = std::any_of(s_.kernels.begin(), s_.kernels.end(), packs_leaf) ? 1 : 0;
    for (const std::size_t k : order) {
      Kernel& kernel = s_.kernels[k];
      const std::size_t from = packs_leaf(kernel) ? 0 : first;
      if (auto* combine = std::get_if<Kernel::Combine>(&kernel.role); combine && s_.kernels[combine->parts].cut.along == Cut::Along::rows) {
        combine->finishes = true;  // unless something else that it reads comes later
        combine->finishes = earliest(k, from) == s_.kernels[combine->parts].phase;
      }
      kernel.phase = earliest(k, from);
      phases = std::max(phases, kernel.phase + 1);
    }
    s_.phases.resize(phases);
    // The first phase packs leaves; a step that updates no state has no reader that comes before a writer.
    const auto packs_state = [&](const Kernel& kernel) { return s_.values[kernel.reads.front().value].home == StoredValue::Home::state; };
    if (first && !updates_states(graph_))
      s_.phases[0].once = std::all_of(s_.kernels.begin(), s_.kernels.end(), [&](const Kernel& k) { return k.phase > 0 || packs_state(k); });
    loop_of_.assign(s_.kernels.size(), none);
    for (const std::size_t k : order) join_loop(k);
    for (Phase& phase : s_.phases) {
      std::vector<Loop> kept;
      for (Loop& loop : phase.loops)
        if (!loop.kernels.empty()) kept.push_back(std::move(loop));
      phase.loops = std::move(kept);
      for (std::size_t l = 0; l < phase.loops.size(); ++l) {
        Loop& loop = phase.loops[l];
        std::sort(loop.kernels.begin(), loop.kernels.end(), [&](std::size_t a, std::size_t b) { return position_[a] < position_[b]; });
        for (const std::size_t k : loop.kernels) s_.kernels[k].loop = l;
        sizes.set(loop);
      }
      set_stages(phase);
    }
  }

  void set_stages(Phase& phase) {
    bool cut = false;
    std::size_t stages = 0;
    for (const Loop& loop : phase.loops)
      for (const std::size_t k : loop.kernels) {
        Kernel& kernel = s_.kernels[k];
        if (!loop.domain.samples) continue;
        for (const Read& read : kernel.reads) {
          const std::size_t p = producer(read);
          if (p == none || p == k || s_.kernels[p].phase != kernel.phase || s_.kernels[p].loop != kernel.loop) continue;
          kernel.stage = std::max(kernel.stage, s_.kernels[p].stage + 1);
        }
        stages = std::max(stages, kernel.stage + 1);
        cut = cut || (kernel.cut.pieces > 1 && !kernel.cut.every_range);
      }
    if (cut) phase.stages = stages;
    if (cut && stages == 1 && cuts_rows_alone(phase)) phase.cut_samples = 7;
  }

  /// Whether all its kernels over samples are cut into rows: pieces of columns read a part of a weight, which is read once for all samples.
  bool cuts_rows_alone(const Phase& phase) const {
    return std::all_of(phase.loops.begin(), phase.loops.end(), [&](const Loop& loop) {
      return !loop.domain.samples || std::all_of(loop.kernels.begin(), loop.kernels.end(), [&](std::size_t k) {
        const Cut& of = s_.kernels[k].cut;
        return of.along == Cut::Along::rows && of.pieces > 1 && !of.every_range;
      });
    });
  }

  std::vector<std::size_t> topological() {
    std::vector<std::size_t> waiting(s_.kernels.size()), order;
    std::vector<std::vector<std::size_t>> users(s_.kernels.size());
    const auto edge = [&](std::size_t from, std::size_t to) {
      users[from].push_back(to);
      ++waiting[to];
    };
    for (std::size_t k = 0; k < s_.kernels.size(); ++k)
      for (const Read& read : s_.kernels[k].reads)
        if (const std::size_t p = producer(read); p != none && p != k) edge(p, k);
    for (const auto& [before, after] : anti_) edge(before, after);
    std::vector<std::size_t> ready;
    for (std::size_t k = 0; k < waiting.size(); ++k)
      if (!waiting[k]) ready.push_back(k);
    for (std::size_t next = 0; next < ready.size(); ++next) {
      order.push_back(ready[next]);
      for (const std::size_t user : users[ready[next]])
        if (--waiting[user] == 0) ready.push_back(user);
    }
    if (order.size() != s_.kernels.size()) throw InternalError("schedule", "the kernels depend on each other in a circle");
    position_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    return order;
  }

  /// All loops over samples of a phase with the same pace are merged, but for slots and what is divided; loops over rows are merged if a kernel reads
  /// what another of the phase wrote.
  void join_loop(std::size_t k) {
    Kernel& kernel = s_.kernels[k];
    auto& loops = s_.phases[kernel.phase].loops;
    std::set<std::size_t> joins;  // loops of the phase
    const auto over_samples = samples_loop_.find({kernel.phase, kernel.pace});
    const bool alone = is_alone(kernel) || kernel.pace == Pace::slots;
    if (kernel.domain.samples && !alone && over_samples != samples_loop_.end()) joins.insert(over_samples->second);
    for (const Read& read : kernel.reads)
      if (const std::size_t p = producer(read); p != none && loop_of_[p] != none && s_.kernels[p].phase == kernel.phase) joins.insert(loop_of_[p]);
    if (joins.empty()) {
      loops.push_back({kernel.domain, kernel.pace, {}, {}, {}});
      joins.insert(loops.size() - 1);
    }
    const std::size_t into = *joins.begin();
    for (const std::size_t l : joins)
      if (l != into) {
        for (const std::size_t moved : loops[l].kernels) loop_of_[moved] = into;
        loops[into].kernels.insert(loops[into].kernels.end(), loops[l].kernels.begin(), loops[l].kernels.end());
        loops[l].kernels.clear();
      }
    loops[into].kernels.push_back(k);
    loop_of_[k] = into;
    if (loops[into].domain.samples && !alone) samples_loop_[{kernel.phase, loops[into].pace}] = into;
    if (kernel.cut.every_range) loops[into].cut = kernel.cut;
  }

  const Graph& graph_;
  Schedule& s_;
  std::vector<std::size_t> producer_;              // by value
  std::vector<std::vector<std::size_t>> readers_;  // by value
  Edges edges_;
  ir::Ranks ranks_;
  std::vector<std::pair<std::size_t, std::size_t>> anti_;  // reader of an old state before its writer
  std::vector<std::vector<std::size_t>> overwrites_after_;
  std::vector<std::size_t> position_;
  std::vector<std::size_t> loop_of_;                                  // by kernel: its loop in its phase
  std::map<std::pair<std::size_t, Pace>, std::size_t> samples_loop_;  // of each phase
};

}  // namespace

void order_kernels(const Graph& graph, Schedule& schedule) { Order(graph, schedule).run(); }

}  // namespace sinter::codegen
