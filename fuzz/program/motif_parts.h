// What motifs are made of, and the motifs: one function each, in the file of its subject.
#pragma once

#include "fuzz/program/builder.h"

namespace sinter::fuzz::motif {

// ---- parts: motif_parts.cpp ----
/// The form that is recognised, or now and then another one.
bool exactly(Builder& b);
/// A value in the middle of a chain: now and then others read it too.
ir::Value link(Builder& b, ir::Value x);
/// Up to three pointwise ops, most of them with constants, on numbers of any type; the result is of floats.
ir::Value arithmetic(Builder& b, ir::Value x);
/// A product of a matrix, as either operand, transposed or not.
ir::Value product_with(Builder& b, ir::Value x);

// ---- motifs ----
ir::Value dense_layer(Builder& b);  // motifs_product.cpp
ir::Value packed_product(Builder& b);
ir::Value divided_product(Builder& b);
ir::Value weight_gradient(Builder& b);
ir::Value transposed_product(Builder& b);
ir::Value attention(Builder& b);

ir::Value loop_over_time(Builder& b);          // recipes_scan.cpp
ir::Value product_of_picked_rows(Builder& b);  // motifs_rows.cpp
ir::Value reduction_of_picked_rows(Builder& b);
ir::Value scatter_of_repeated_rows(Builder& b);
ir::Value computed_index(Builder& b);

ir::Value image_layer(Builder& b);  // motifs_image.cpp
ir::Value convolution_of_long_kernel(Builder& b);
ir::Value convolution_of_large_kernel(Builder& b);
ir::Value depthwise_convolution(Builder& b);
ir::Value convolution_of_few_features(Builder& b);
ir::Value convolution_of_groups(Builder& b);
ir::Value convolution_of_adjacent_windows(Builder& b);
ir::Value convolution_of_long_row(Builder& b);
ir::Value convolution_of_many_channels(Builder& b);
ir::Value rectified_pool(Builder& b);

ir::Value reshapes(Builder& b);  // motifs_shape.cpp
ir::Value permutation(Builder& b);
ir::Value moved(Builder& b);

ir::Value log_of_softmax(Builder& b);  // motifs_reduction.cpp
ir::Value long_reduction(Builder& b);
ir::Value sum_of_chains(Builder& b);
ir::Value normalized(Builder& b);
ir::Value related_sums(Builder& b);
ir::Value reductions_together(Builder& b);
ir::Value count(Builder& b);

ir::Value many_rows(Builder& b);  // motifs_sequence.cpp
ir::Value masked_steps(Builder& b);

ir::Value state_update(Builder& b);  // motifs_state.cpp
ir::Value table_update(Builder& b);
ir::Value scalar_in_every_kernel(Builder& b);
ir::Value dropout(Builder& b);

ir::Value ordered(Builder& b);  // motifs_verb.cpp
ir::Value permuted(Builder& b);
ir::Value contracted(Builder& b);
ir::Value multiplied(Builder& b);
ir::Value reduced(Builder& b);
ir::Value sliced(Builder& b);
ir::Value activated(Builder& b);

}  // namespace sinter::fuzz::motif
