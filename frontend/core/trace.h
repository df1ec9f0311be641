// Recording: while a Trace is current on a thread, ops append to its graph instead of running.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/core/parameter.h"
#include "frontend/core/scan.h"
#include "frontend/core/tensor.h"
#include "ir/graph.h"

namespace sinter {

/// Of a parameter or a module: whether it is trainable, and what it was when it was read.
struct Flag {
  std::shared_ptr<const bool> now;
  bool was;
};

/// What a function throws that needs a value while it is traced: to print it, or to decide by it.
class NoTracedValue : public UserError {
 public:
  using UserError::UserError;
};

/// A finished recording: the graph and what its states and hidden inputs are.
struct Traced {
  ir::Graph graph;
  std::vector<std::shared_ptr<Cell>> cells;  ///< one a state
  std::vector<Tensor> captured;              ///< one a hidden input; those follow the declared inputs
  std::vector<Flag> flags = {};              ///< what was trainable decided what was recorded
  std::vector<std::string> warnings = {};    ///< of what trains less well than it could
  /// Whether the flags are as they were.
  bool is_current() const;
};

class Trace {
 public:
  /// Becomes current on this thread until destroyed.
  explicit Trace(std::string name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The innermost trace of this thread, or null.
  static Trace* current();

  Tensor input(ir::InputSpec spec);
  void output(const Tensor& value);
  Tensor apply(ir::Op op, std::span<const Tensor* const> in, const std::source_location& where);
  Tensor read(const std::shared_ptr<Cell>& cell);
  void assign(const std::shared_ptr<Cell>& cell, const Tensor& value, const std::source_location& where);
  /// The flag's value, on which the recording depends from now on.
  bool read_flag(std::shared_ptr<const bool> flag);
  /// The node that made a tensor of this trace, reshapes aside; null for any other tensor.
  const ir::Node* maker(const Tensor& tensor) const;

  // ---- warnings, of a function that trains: one that differentiates and assigns a trainable parameter ----
  /// Each text once.
  void warn(const std::string& text);
  /// That the function, or a part of it, says by an nn::TrainingScope that it trains.
  void note_training();
  /// That this layer ran as in prediction.
  void note_not_training(const std::string& layer);
  /// Gradients of a traced loss with respect to cells' present values; empty tensors where the loss does not depend on one.
  std::vector<Tensor> gradients(const Tensor& loss, std::span<const Tensor> wrt, const std::source_location& where);

  /// A loop over time: `step` is traced once, with tensors that stand for the carries and the elements of any step.
  Scanned scan(const ScanFunction& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, Dim length, bool reverse,
               const std::source_location& where);

  Traced finish();

 private:
  /// Of the step of a loop in another trace, which has all that the step reads.
  explicit Trace(Trace& around);
  ir::NodeId node_of(const Tensor& tensor, const std::source_location& where);
  ir::NodeId captured_by_step(ir::NodeId around);
  Tensor tensor_of(ir::Value value) const;

  struct StateOf {
    std::size_t index;
    ir::NodeId present;
  };
  std::uint64_t serial_;
  Trace* outer_;
  Traced result_;
  std::unordered_map<const Cell*, StateOf> states_;
  std::unordered_map<std::string, int> names_;  ///< of states, with the number of states that wanted each
  std::unordered_set<const bool*> flags_;
  std::map<std::pair<const std::byte*, const Record*>, ir::NodeId> captured_nodes_;  ///< by value and record: w and w.detach() are two
  Trace* around_ = nullptr;                                                          ///< of the step of a loop
  std::unordered_map<ir::NodeId, ir::NodeId> captured_step_;                         ///< of that: its input for a node of the trace around
  std::vector<ir::NodeId> captured_around_;                                          ///< those nodes, in the order of its inputs
  bool differentiates_ = false, knows_training_ = false;
  std::vector<std::string> warnings_, not_training_;
};

/// The layer that is running on this thread ("dense_2"), for error messages and node origins.
const std::string& current_layer();

class LayerScope {
 public:
  explicit LayerScope(const std::string& name);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  const std::string* outer_;
};

}  // namespace sinter
