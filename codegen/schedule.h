// Graph → phases of loops of kernels. Plain data, printable, checked by verify_schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/layout.h"
#include "ir/step.h"

namespace sinter::codegen {

class KernelKind;

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
  bool unpadded = false;    ///< an input whose rows are adjacent
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

/// How a single sample may be cut, so that all threads work on it: not at all; into rows, for a convolution rows of pixels or of tiles; or into
/// piece_columns columns of the result. Steps that update states do not cut single samples: training needs no low latency for one.
enum class Piece : std::uint8_t { sample, rows, columns };
inline constexpr std::int64_t piece_columns = 128;

struct Kernel {
  /// nodes: a kernel group. partial: the group's reduction, one slot per chunk. combine: the slots and what follows. copy: a leaf to an output or
  /// state. pack: the right operand of the group's product into the order in which tiles read it.
  enum class Role : std::uint8_t { nodes, partial, combine, copy, pack };
  Role role = Role::nodes;
  const KernelKind* kind = nullptr;  ///< whose code it is (codegen/kernels/kinds.h)
  std::int32_t group = -1;           ///< kernel group of the graph
  std::vector<ir::NodeId> nodes;     ///< in topological order
  ir::NodeId anchor = ir::no_node;
  Shape shape;  ///< of the tensors whose rows are the domain
  Domain domain;
  std::vector<Read> reads;
  std::vector<Write> writes;
  ValueId product = no_value;  ///< memory where a product or scatter is collected before its epilogue; or one of `writes`
  ValueId slots = no_value;    ///< partial sums, one a chunk
  std::size_t parts = 0;       ///< of a combine: the number of the kernel that fills the slots
  bool finishes = false;       ///< of a combine: in the loop of that kernel; run over the rows of a piece by whoever computes the last part of it
  ValueId packed = no_value;   ///< the packed right operand: written by the pack kernel, read by the product
  ValueId sums = no_value;     ///< of a long product: the sums of its chains (codegen/kernels/chains.h); of a call, if `sums_of_call`
  bool sums_of_call = false;
  ValueId staging = no_value;  ///< of a kernel call: the copy of an image, the exponentials of a row
  Pace pace = Pace::rows;
  Piece piece = Piece::sample;
  std::int64_t pieces = 1;  ///< of a sample
  bool divided = false;     ///< every chunk is cut into the pieces, not only a single sample
  Work work;                ///< over the whole domain
  std::size_t phase = 0, loop = 0;
  std::size_t stage = 0;  ///< of a loop over samples: greater than that of each kernel of the loop whose results it reads
  /// Whether what is collected becomes a result in place.
  bool collects_in_place() const {
    return std::any_of(writes.begin(), writes.end(), [&](const Write& write) { return write.value == product; });
  }
};

/// Kernels that run back to back on each chunk.
struct Loop {
  Domain domain;
  Pace pace = Pace::rows;
  std::vector<std::size_t> kernels;
  ChunkLimits limits;
  std::int64_t pieces = 1;  ///< into which each range of units is divided; then there is one kernel, and perhaps one that finishes its pieces
  /// Chunk size: depends only on shape and sizes.
  std::int64_t chunk_units(Sizes sizes) const;
};

/// Independent loops: their chunks are claimed in any order. A barrier follows.
struct Phase {
  std::vector<Loop> loops;
  /// Where a single sample is cut into pieces, the kernels of loops over samples come stage after stage with barriers between; 0: nothing is cut.
  std::size_t stages = 0;
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

  /// The value in whose memory this one is: itself, or that which it is under another shape.
  ValueId memory_of(ValueId value) const { return values[value].base == no_value ? value : values[value].base; }
};

inline constexpr std::size_t no_kernel = ~std::size_t{0};
/// The kernel of a loop that finishes its pieces.
std::size_t finisher(const Schedule& schedule, const Loop& loop);
/// `keep_all` stores every result of a kernel group that other groups or taps can read.
Schedule make_schedule(const ir::Graph& graph, bool keep_all);
/// Throws InternalError if a kernel reads what no earlier phase or same-row kernel before it wrote, or a state is overwritten while it is still read.
void verify_schedule(const ir::Graph& graph, const Schedule& schedule);
std::string to_text(const ir::Graph& graph, const Schedule& schedule);

}  // namespace sinter::codegen
