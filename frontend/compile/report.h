// What verify() and time() return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace sinter {

/// One judgement of verify(): a node whose value is not what it should be.
struct Disagreement {
  std::string part;       ///< "kernels", "memory plan", "graph", "eager"
  std::string node;       ///< "%4 = sigmoid   # dense_1, mlp.cpp:14"
  std::size_t index = 0;  ///< first differing element, row-major
  double got = 0, wanted = 0, tolerance = 0;
  double ulps = 0;  ///< from got to wanted, in units in the last place of an f32 of wanted's magnitude; for integers the difference
};

struct VerifyReport {
  std::vector<Disagreement> disagreements;  ///< the first of each node that disagrees, in execution order; empty: all agree
  std::size_t nodes = 0;                    ///< nodes judged
  /// Results that hold NaN or infinite numbers, in agreement with double arithmetic: "output 0: %4 = log   # mlp.cpp:14 is -inf at [1, 1]".
  std::vector<std::string> non_finite = {};
  double worst = 0;  ///< greatest error as a fraction of its tolerance
  bool ok() const { return disagreements.empty(); }
  /// Where a wrong number appears first: later nodes may only have read it. Throws UserError if all agree.
  const Disagreement& first() const;
};
/// `verify: 52 values agree; …`, or each disagreement with both values, their distance and what was allowed, the first one first; then what is not
/// finite.
std::ostream& operator<<(std::ostream& out, const VerifyReport& report);

/// Memory that a compiled step needs for a call, in bytes, without its inputs and outputs.
struct StepMemory {
  std::int64_t states = 0;   ///< parameters, optimizer state and other cells
  std::int64_t arenas = 0;   ///< values that live from one loop to another
  std::int64_t scratch = 0;  ///< of chunks, on all threads
  int threads = 1;
  std::int64_t all() const { return states + arenas + scratch; }
};

struct TimeReport {
  struct Row {
    std::string node;          ///< "%4 = sigmoid   # dense_1, mlp.cpp:14", or the kernel's nodes
    std::string layer;         ///< "dense_1"; empty outside of layers
    int kernel = -1;           ///< kernel group that does it in the graph; -1: none
    double eager_seconds = 0;  ///< minimum over the repeats
  };
  double eager_seconds = 0, graph_seconds = 0;  ///< a whole call, minimum over the repeats
  double compile_seconds = 0;
  std::vector<Row> rows;
  /// How many threads the chunks of a call keep busy, by the measured times of its kernels.
  struct Parallelism {
    int threads = 1;
    double busy = 1;
    std::string kernel;  ///< the one that the other threads wait for longest
  };
  std::vector<Parallelism> parallelism;  ///< at 16 and at 64 threads; empty without the code generator
  std::vector<double> kernel_seconds;    ///< by kernel: its share of the step's time, times seconds and threads; empty without the code generator
  double speedup() const { return graph_seconds > 0 ? eager_seconds / graph_seconds : 0; }

  struct Layer {
    std::string name;  ///< of Row::layer
    double eager_seconds = 0, graph_seconds = 0;
  };
  /// Sums over the rows of each layer, those that take longest in the graph first. A kernel of several layers counts for each by its nodes' eager
  /// times. Without the code generator the graph's are 0.
  std::vector<Layer> layers() const;
  /// A table of all rows, by kernel.
  std::string details() const;
};
/// The times of a call, and a table of layers(). details() has the rest.
std::ostream& operator<<(std::ostream& out, const TimeReport& report);

}  // namespace sinter
