#include "fuzz/program/motifs.h"

#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz {

namespace {

/// Those that need the most luck are here several times.
constexpr ir::Value (*motifs[])(Builder&) = {
    motif::convolution_of_many_channels,
    motif::convolution_of_many_channels,
    motif::convolution_of_many_channels,
    motif::convolution_of_many_channels,
    motif::convolution_of_many_channels,
    motif::convolution_of_many_channels,
    motif::product_of_picked_rows,
    motif::product_of_picked_rows,
    motif::product_of_picked_rows,
    motif::product_of_picked_rows,
    motif::packed_product,
    motif::divided_product,
    motif::divided_product,
    motif::weight_gradient,
    motif::weight_gradient,
    motif::packed_product,
    motif::packed_product,
    motif::dense_layer,
    motif::dense_layer,
    motif::transposed_product,
    motif::image_layer,
    motif::rectified_pool,
    motif::log_of_softmax,
    motif::reshapes,
    motif::reduction_of_picked_rows,
    motif::scatter_of_repeated_rows,
    motif::long_reduction,
    motif::sum_of_chains,
    motif::normalized,
    motif::many_rows,
    motif::many_rows,
    motif::loop_over_time,
    motif::loop_over_time,
    motif::loop_over_time,
    motif::loop_over_time,
    motif::attention,
    motif::state_update,
    motif::scalar_in_every_kernel,
    motif::dropout,
    motif::computed_index,
    motif::permutation,
    motif::moved,
    motif::moved,
    motif::count,
    motif::ordered,
    motif::ordered,
    motif::permuted,
    motif::contracted,
    motif::contracted,
    motif::multiplied,
    motif::reduced,
    motif::sliced,
    motif::activated,
};

}  // namespace

ir::Value add_motif(Builder& b) { return b.choose.among(motifs)(b); }

}  // namespace sinter::fuzz
