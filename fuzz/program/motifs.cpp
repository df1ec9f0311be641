#include "fuzz/program/motifs.h"

#include <iterator>
#include <numeric>

#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz {

namespace {

/// Those that need the most luck have the greatest weights.
struct Motif {
  ir::Value (*make)(Builder&);
  std::size_t weight = 1;
};
constexpr Motif motifs[] = {
    {motif::convolution_of_many_channels, 11},
    {motif::product_of_picked_rows, 9},
    {motif::packed_product, 5},
    {motif::divided_product, 3},
    {motif::weight_gradient, 2},
    {motif::dense_layer, 4},
    {motif::transposed_product},
    {motif::image_layer, 3},
    {motif::convolution_of_long_kernel, 6},
    {motif::convolution_of_large_kernel, 5},
    {motif::depthwise_convolution, 10},
    {motif::convolution_of_few_features, 5},
    {motif::convolution_of_groups, 6},
    {motif::convolution_of_adjacent_windows, 2},
    {motif::convolution_of_long_row, 3},
    {motif::rectified_pool},
    {motif::log_of_softmax},
    {motif::reshapes},
    {motif::reduction_of_picked_rows},
    {motif::scatter_of_repeated_rows, 3},
    {motif::long_reduction, 4},
    {motif::sum_of_chains, 4},
    {motif::normalized},
    {motif::related_sums},
    {motif::reductions_together, 12},
    {motif::many_rows, 3},
    {motif::masked_steps, 13},
    {motif::loop_over_time, 20},
    {motif::attention},
    {motif::state_update},
    {motif::table_update, 2},
    {motif::scalar_in_every_kernel},
    {motif::dropout},
    {motif::computed_index},
    {motif::permutation},
    {motif::moved, 2},
    {motif::count},
    {motif::ordered, 2},
    {motif::permuted},
    {motif::contracted, 2},
    {motif::multiplied},
    {motif::reduced},
    {motif::sliced},
    {motif::activated},
};

}  // namespace

ir::Value add_motif(Builder& b) {
  constexpr std::size_t all =
      std::accumulate(std::begin(motifs), std::end(motifs), std::size_t{0}, [](std::size_t sum, const Motif& m) { return sum + m.weight; });
  std::size_t left = b.choose.below(all);
  const Motif* motif = motifs;
  for (; left >= motif->weight; ++motif) left -= motif->weight;
  return motif->make(b);
}

}  // namespace sinter::fuzz
