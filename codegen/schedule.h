// Graph → phases of loops of kernels. Plain data, printable, checked by verify_schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/kernel.h"
#include "ir/layout.h"
#include "ir/step.h"

namespace sinter::codegen {

class KernelKind;
struct ScanPlan;

/// The domain that the chunks of a loop divide: N samples, or a number of rows.
struct Domain {
  Dim units = 1;         ///< rows: the leading dimensions of a tensor, taken as one; all but the last, or, where each row is reduced, all
  bool samples = false;  ///< units are samples: tensors have a leading dimension k·N, of which a unit owns k
  bool operator==(const Domain&) const = default;
};

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};

/// A value that passes through memory.
struct StoredValue {
  enum class Home : std::uint8_t { input, state, output, memory };
  Home home = Home::memory;
  std::uint32_t index = 0;  ///< of the input, state or output
  Type type;
  ir::NodeId node = ir::no_node;  ///< whose value it is; no_node for partial sums
  std::string name;
  ValueId base = no_value;  ///< the value that this one is under another shape
  bool unpadded = false;    ///< an input or output whose rows are adjacent
  Dim length = 0;           ///< of a step's element that lies in a sequence of so many steps: samples are `length` times as far apart. 0: it does not
  SymbolicLayout layout() const { return unpadded ? symbolic_layout(type.shape).unpadded() : symbolic_layout(type.shape); }
};

/// An operand of a kernel in memory.
struct Read {
  ValueId value;
  bool same_rows = false;   ///< a chunk reads only its own rows of it
  bool same_place = false;  ///< a written element depends only on the same element of it: the two may share memory
};

/// A node's value written by a kernel.
struct Write {
  ir::NodeId node;
  ValueId value;
};

/// The size of the chunks of a kernel's loop: as many rows as make good tiles; few images, each of which is much work; or, where each chunk has
/// a slot for a sum as large as a weight, so many samples that there are few chunks.
enum class Pace : std::uint8_t { rows, images, slots };

/// How what a kernel computes of a range of units is cut into pieces, so that more threads share the work: every range; or only that of a single
/// sample, in a step that updates no state, as training needs no low latency for one.
struct Cut {
  /// What a piece is: rows of the result, of a convolution rows of pixels or of tiles; or piece_columns columns of it.
  enum class Along : std::uint8_t { none, rows, columns };
  Along along = Along::none;
  std::int64_t pieces = 1;
  bool every_range = false;
  /// Into how many pieces each range is cut.
  std::int64_t of_each_range() const { return every_range ? pieces : 1; }
  bool operator==(const Cut&) const = default;
};
inline constexpr std::int64_t piece_columns = 128;

/// Memory of a kernel beside what it reads and writes.
struct Memory {
  enum Purpose : std::uint8_t {
    collected,  ///< where a product or scatter is collected before its epilogue; or one of the kernel's `writes`
    slots,      ///< partial sums, one a chunk: a partial writes them, a combine reads them. One for each reduction, in their order
    packed,     ///< the packed right operand: a pack writes it, the product reads it
    sums,       ///< of a long product: the sums of its chains (codegen/kernels/chains.h)
    staging,    ///< the copy of an image, the exponentials of a row
    step,       ///< of a loop over time: a value of its step (any number of them)
  };
  Purpose purpose;
  ValueId value;
  bool of_call = false;  ///< one for each call of the kernel, instead of rows for those of the chunk
};

/// A mask of the steps of sequences.
struct StepMask {
  ValueId value;               ///< boolean, an element for each step of each sample
  Dim length;                  ///< steps of a sample
  std::vector<ValueId> zeros;  ///< results that are 0 in steps that are not computed; others are not written there
};

struct Kernel {
  /// A kernel group.
  struct Group {};
  /// The group's reduction, one slot a chunk; and others over the same rows, which are computed together with it (codegen/joint_sums.h).
  struct Partial {
    std::vector<ir::NodeId> others;
  };
  /// The slots and what follows.
  struct Combine {
    std::size_t parts;      ///< the number of the kernel that fills the slots
    bool finishes = false;  ///< is in the loop of that kernel; run over the rows of a piece by whoever computes the last part of it
  };
  /// A leaf to an output or state; or what a loop over time stacks, to an output without padding.
  struct Copy {};
  /// The right operand of the group's product into the order in which tiles read it.
  struct Pack {
    bool divided = false;  ///< for a product whose every range is cut into columns
  };
  std::variant<Group, Partial, Combine, Copy, Pack> role;
  const KernelKind* kind = nullptr;  ///< whose code it is (codegen/kernels/kinds.h)
  std::int32_t group = -1;           ///< kernel group of the graph
  std::vector<ir::NodeId> nodes;     ///< in topological order
  ir::NodeId anchor = ir::no_node;
  Shape shape;  ///< of the tensors whose rows are the domain
  Domain domain;
  std::vector<Read> reads;
  std::vector<Write> writes;
  std::vector<Memory> memory;  ///< at most one for each purpose, but for a loop over time and for several reductions
  Pace pace = Pace::rows;
  Cut cut;
  Work work;  ///< over the whole domain
  /// Steps of a sample before the first and behind the last that this mask has are not computed; a loop over time skips those that are such of all
  /// samples of a chunk. Of a sum over steps: they add nothing.
  std::optional<StepMask> mask = {};
  /// Of a scatter: what follows is computed only for rows of the table to which it adds something. Its results are states, which keep what they have
  /// in the others.
  bool touched_rows = false;
  std::size_t phase = 0, loop = 0;
  std::size_t stage = 0;                     ///< of a loop over samples: greater than that of each kernel of the loop whose results it reads
  std::shared_ptr<ScanPlan> scan = nullptr;  ///< of a loop over time, and of what packs for it
  std::size_t of_step = 0;                   ///< of what packs for such a loop: the number of the step's kernel

  template <class R>
  bool is() const {
    return std::holds_alternative<R>(role);
  }
  /// Whether it computes this node.
  bool has(ir::NodeId id) const { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); }
  /// Whether the units of the domain are elements of tensors of the kernel's shape.
  bool counts_elements() const { return !domain.samples && domain.units != Dim(1) && domain.units != symbolic_layout(shape).rows; }
  /// Of a loop over time: whether threads share each step of few samples (codegen/scan_plan.h).
  bool cuts_steps() const;
  bool finishes() const { return is<Combine>() && std::get<Combine>(role).finishes; }
  /// Its memory for this purpose; no_value if it has none.
  ValueId memory_for(Memory::Purpose purpose) const;
  /// What a partial reduces to slots: the anchor, then others.
  std::vector<ir::NodeId> reductions() const;
  /// Memory in which nothing else reads or writes: not slots and what is packed, which another kernel shares, and not a result that is collected in
  /// place.
  bool is_private(const Memory& memory) const;
};

/// Kernels that run back to back on each chunk.
struct Loop {
  Domain domain;
  Pace pace = Pace::rows;
  std::vector<std::size_t> kernels;
  ChunkLimits limits;
  Cut cut;  ///< of every range; then there is one kernel, and perhaps one that finishes its pieces
  /// The most units of a call of its kernels.
  std::int64_t most_units(Sizes sizes) const;
};

/// Independent loops: their chunks are claimed in any order. A barrier follows.
struct Phase {
  std::vector<Loop> loops;
  /// Where a single sample is cut into pieces, the kernels of loops over samples come stage after stage with barriers between; 0: nothing is cut.
  std::size_t stages = 0;
  /// Up to so many samples are cut like a single one, if threads would have unequal work.
  std::int64_t cut_samples = 1;
  /// Its kernels pack states, in a step that updates none: a call may skip it if the states are unchanged since the previous call.
  bool once = false;
};

struct Schedule {
  std::vector<StoredValue> values;
  std::vector<ValueId> value_of;  ///< by node: its stored value; no_value if it is not stored
  std::vector<Kernel> kernels;
  std::vector<Phase> phases;
  ir::NodeFacts facts;           ///< of the graph
  bool divides_samples = false;  ///< chunks of tensors with many rows a sample are rows
  bool is_step = false;          ///< of a loop over time: its kernels run on the loop's chunks

  /// The value in whose memory this one is: itself, or that which it is under another shape.
  ValueId memory_of(ValueId value) const { return values[value].base == no_value ? value : values[value].base; }
};

inline constexpr std::size_t no_kernel = ~std::size_t{0};
/// The kernel of a loop that finishes its pieces.
std::size_t finisher(const Schedule& schedule, const Loop& loop);
/// `keep_all` stores every result of a kernel group that other groups or taps can read.
Schedule make_schedule(const ir::Graph& graph, bool keep_all);
/// Of the step of a loop over time.
Schedule make_step_schedule(const ir::Scan& scan);
/// Throws InternalError if a kernel reads what no earlier phase or same-row kernel before it wrote, or a state is overwritten while it is still read.
void verify_schedule(const ir::Graph& graph, const Schedule& schedule);
std::string to_text(const ir::Graph& graph, const Schedule& schedule);

}  // namespace sinter::codegen
