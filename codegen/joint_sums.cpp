#include "codegen/joint_sums.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "codegen/kernels/kinds.h"
#include "ir/cost.h"
#include "ir/kernel.h"

namespace sinter::codegen {

namespace {

class Join {
 public:
  Join(const ir::Graph& graph, Schedule& schedule) : graph_(graph), s_(schedule), place_(schedule.kernels.size()) {
    std::iota(place_.begin(), place_.end(), std::size_t{0});
  }

  void run() {
    for (Phase& phase : s_.phases)
      for (Loop& loop : phase.loops) join(loop);
    if (!removed_.empty()) remove();
  }

 private:
  Kernel& kernel(std::size_t k) { return s_.kernels[k]; }

  bool is_partial_sum(const Kernel& kernel) const {
    return kernel.is<Kernel::Partial>() && kernel.kind == &the_kind<ReductionKernel> && !kernel.mask && kernel.cut.pieces == 1;
  }

  /// Whether a kernel can compute both: over the same rows, in the same way, to as many results.
  bool are_alike(const Kernel& a, const Kernel& b) const {
    const ir::Node &x = graph_.node(a.anchor), &y = graph_.node(b.anchor);
    return a.shape == b.shape && a.domain == b.domain && x.op.index() == y.op.index() && x.type == y.type;
  }

  void join(Loop& loop) {
    std::vector<std::vector<std::size_t>> sets;
    for (const std::size_t k : loop.kernels) {
      if (!is_partial_sum(kernel(k))) continue;
      const auto fits = [&](const std::vector<std::size_t>& set) {
        return are_alike(kernel(set[0]), kernel(k)) && set.size() < ReductionKernel::most_together(graph_, kernel(k));
      };
      if (const auto found = std::find_if(sets.begin(), sets.end(), fits); found != sets.end()) found->push_back(k);
      else sets.push_back({k});
    }
    for (const std::vector<std::size_t>& set : sets)
      if (set.size() > 1) join(loop, set);
  }

  /// Into the last one, before which all that they read is written.
  void join(Loop& loop, const std::vector<std::size_t>& set) {
    Kernel joint = kernel(set[0]);
    for (const std::size_t k : set) {
      if (k == set[0]) continue;
      std::get<Kernel::Partial>(joint.role).others.push_back(kernel(k).anchor);
      joint.memory.insert(joint.memory.end(), kernel(k).memory.begin(), kernel(k).memory.end());
      absorb(joint, kernel(k));
    }
    const std::size_t last = set.back();
    for (const std::size_t k : set) {
      place_[k] = last;
      if (k != last) removed_.insert(k);
    }
    kernel(last) = std::move(joint);
    // What only the sums read, from the last that may be to the first.
    const auto end = std::find(loop.kernels.begin(), loop.kernels.end(), last);
    for (auto k = std::make_reverse_iterator(end); k != loop.kernels.rend(); ++k) {
      if (removed_.contains(*k) || !is_read_only_by(*k, last)) continue;
      std::erase_if(kernel(last).reads, [&](const Read& read) { return writes(kernel(*k), read.value); });
      absorb(kernel(last), kernel(*k));
      removed_.insert(*k);
    }
    sort(kernel(last).nodes);
    kernel(last).work.bytes = {};
    for (const Read& read : kernel(last).reads) kernel(last).work.bytes += ir::bytes(s_.values[read.value].type);
  }

  static bool writes(const Kernel& kernel, ValueId value) {
    return std::any_of(kernel.writes.begin(), kernel.writes.end(), [&](const Write& write) { return write.value == value; });
  }

  static bool is_reduced(const Kernel& sums, ir::NodeId id) {
    const std::vector<ir::NodeId> reductions = sums.reductions();
    return std::find(reductions.begin(), reductions.end(), id) != reductions.end();
  }

  /// Adds what a kernel computes and reads.
  void absorb(Kernel& into, const Kernel& other) {
    for (const ir::NodeId id : other.nodes)
      if (std::find(into.nodes.begin(), into.nodes.end(), id) == into.nodes.end()) into.nodes.push_back(id);
    for (const Read& read : other.reads) {
      const auto found = std::find_if(into.reads.begin(), into.reads.end(), [&](const Read& r) { return r.value == read.value; });
      if (found == into.reads.end()) into.reads.push_back(read);
      else found->same_rows = found->same_rows && read.same_rows;
    }
    into.work.flops += other.work.flops;
    into.stage = std::max(into.stage, other.stage);
  }

  void sort(std::vector<ir::NodeId>& nodes) {
    if (position_.empty()) {
      const std::vector<ir::NodeId> order = graph_.topological_order();
      position_.resize(graph_.size());
      for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    }
    std::sort(nodes.begin(), nodes.end(), [&](ir::NodeId a, ir::NodeId b) { return position_[a] < position_[b]; });
  }

  /// Whether a kernel is elementwise over the same rows, and its results are read by that reader alone, each element for its own place.
  bool is_read_only_by(std::size_t k, std::size_t reader) {
    const Kernel &kernel = s_.kernels[k], &sums = s_.kernels[reader];
    if (!kernel.is<Kernel::Group>() || kernel.anchor != ir::no_node || kernel.shape != sums.shape || kernel.domain != sums.domain || kernel.mask ||
        kernel.cut.pieces > 1)
      return false;
    const auto is_read_in_place = [&](ir::NodeId id) {
      const std::vector<ir::NodeId>& users = graph_.node(id).users;
      return std::all_of(users.begin(), users.end(), [&](ir::NodeId user) {
        const bool reads = std::find(sums.nodes.begin(), sums.nodes.end(), user) != sums.nodes.end();
        return !reads || ir::is_pointwise(graph_.node(user).op) || is_reduced(sums, user);
      });
    };
    return std::all_of(kernel.writes.begin(), kernel.writes.end(), [&](const Write& write) {
      if (s_.values[write.value].home != StoredValue::Home::memory || graph_.node(write.node).kept || !is_read_in_place(write.node)) return false;
      for (std::size_t other = 0; other < s_.kernels.size(); ++other) {
        if (removed_.contains(other)) continue;
        for (const Read& read : s_.kernels[other].reads)
          if (s_.memory_of(read.value) == write.value && (other != reader || read.value != write.value)) return false;
        if (const auto& mask = s_.kernels[other].mask; mask && s_.memory_of(mask->value) == write.value) return false;
      }
      return true;
    });
  }

  /// The kernels that are part of others now.
  void remove() {
    std::vector<std::size_t> number(s_.kernels.size());
    std::vector<Kernel> kept;
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) {
      number[k] = kept.size();
      if (!removed_.contains(k)) kept.push_back(std::move(s_.kernels[k]));
    }
    for (Kernel& kernel : kept)
      if (auto* combine = std::get_if<Kernel::Combine>(&kernel.role)) combine->parts = number[place_[combine->parts]];
    for (Phase& phase : s_.phases)
      for (Loop& loop : phase.loops) {
        std::erase_if(loop.kernels, [&](std::size_t k) { return removed_.contains(k); });
        for (std::size_t& k : loop.kernels) k = number[k];
      }
    s_.kernels = std::move(kept);
  }

  const ir::Graph& graph_;
  Schedule& s_;
  std::vector<std::size_t> place_;  ///< by kernel: the one whose sums it became part of, or itself
  std::set<std::size_t> removed_;
  std::vector<std::size_t> position_;  ///< by node, in topological order
};

}  // namespace

void join_sums(const ir::Graph& graph, Schedule& schedule) { Join(graph, schedule).run(); }

}  // namespace sinter::codegen
