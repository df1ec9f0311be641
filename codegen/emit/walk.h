// Where an op reads its operands at a site of its result, from how it walks (ir/access.h).
#pragma once

#include "codegen/emit/emitter.h"
#include "ir/access.h"

namespace sinter::codegen {

/// How what the lanes of a site read lies in the operand.
enum class Lanes : std::uint8_t { adjacent, repeated, scattered };
Lanes lanes_of(const ir::Access& access, std::size_t operand, const Shape& result, const Shape& shape);

/// The walk of an op that reads an element of each operand, or none, for an element of its result.
class Walk {
 public:
  /// `node`: the op's, if an operand is read through another one.
  Walk(Emitter& e, const ir::Access& access, const Shape& result, const Site& site, ir::NodeId node = ir::no_node);

  struct Place {
    llvm::Value *row, *last;        ///< as a Site has them
    llvm::Value* inside = nullptr;  ///< whether it is in the operand, else it is the first place; null: always
    /// Where lanes may be outside each on its own: how far the first is along the last axis.
    llvm::Value* first_lane = nullptr;
  };
  /// `table`: the value that has this shape, if its rows are counted at run time.
  Place place(std::size_t operand, const Shape& shape, ValueId table = no_value);
  /// What a stored value holds there; where that is outside, `others`. Not for scattered lanes.
  Vec load(std::size_t operand, ValueId value, const Vec* others = nullptr);

 private:
  llvm::Value* part_of_row(std::size_t first, std::size_t count);
  llvm::Value* coordinate(std::size_t axis);
  llvm::Value* position(const ir::Index& index);
  llvm::Value* position_through(std::size_t operand, llvm::Value* size);
  std::size_t dims_in_place(const ir::Map& map, const Shape& shape, std::size_t from) const;

  Emitter& e_;
  Builder& b_;
  const ir::Access& access_;
  const Shape& result_;
  const Site& site_;
  const ir::NodeId node_;
};

}  // namespace sinter::codegen
