// How a node of each op comes into a program: with which attributes, on which operands.
#pragma once

#include "fuzz/program/builder.h"

namespace sinter::fuzz {

/// Adds a node of op number `op` of the list (ir/ops.h), with what it needs. Throws UserError or Unfit if it came to nothing.
ir::Value add_op(Builder& b, std::size_t op);

// One recipe a family of ops, in the file of its name.
ir::Value make(Builder& b, const ir::Input&);
ir::Value make(Builder& b, const ir::State&);
ir::Value make(Builder& b, const ir::Constant&);
ir::Value make(Builder& b, const ir::Extent&);
ir::Value make(Builder& b, const ir::Iota&);

ir::Value make(Builder& b, const ir::Reshape&);  // recipes_shape.cpp
ir::Value make(Builder& b, const ir::Broadcast&);
ir::Value make(Builder& b, const ir::Transpose&);
ir::Value make(Builder& b, const ir::Permute&);
ir::Value make(Builder& b, const ir::Slice&);
ir::Value make(Builder& b, const ir::Pad&);
ir::Value make(Builder& b, const ir::Shift&);
ir::Value make(Builder& b, const ir::Concat&);

ir::Value make(Builder& b, const ir::Argmax&);  // recipes_rows.cpp
ir::Value make(Builder& b, const ir::Softmax&);
ir::Value make(Builder& b, const ir::LogSoftmax&);
ir::Value make(Builder& b, const ir::Cumsum&);
ir::Value make(Builder& b, const ir::ExactTotal&);
ir::Value make(Builder& b, const ir::TopK&);
ir::Value make(Builder& b, const ir::GatherRows&);
ir::Value make(Builder& b, const ir::ScatterAddRows&);
ir::Value make(Builder& b, const ir::OneHot&);
ir::Value make(Builder& b, const ir::TakeAlong&);
ir::Value make(Builder& b, const ir::ScatterAddAlong&);

ir::Value make(Builder& b, const ir::Matmul&);  // recipes_product.cpp
ir::Value make(Builder& b, const ir::Dense&);
ir::Value make(Builder& b, const ir::BatchMatmul&);
ir::Value make(Builder& b, const ir::Conv2D&);
ir::Value make(Builder& b, const ir::Conv2DTranspose&);
ir::Value make(Builder& b, const ir::Conv2DWeight&);

ir::Value make(Builder& b, const ir::MaxPool&);  // recipes_pool.cpp
ir::Value make(Builder& b, const ir::MaxPoolPlace&);
ir::Value make(Builder& b, const ir::PoolTake&);
ir::Value make(Builder& b, const ir::PoolPut&);
ir::Value make(Builder& b, const ir::AveragePool&);
ir::Value make(Builder& b, const ir::AverageSpread&);
// recipes_scan.cpp
ir::Value make(Builder& b, const ir::Scan&);
ir::Value make(Builder& b, const ir::ScanResult&);

}  // namespace sinter::fuzz
