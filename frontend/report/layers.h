// Places boxes in layers, each below all that it reads, with few crossings and room for the edges between the boxes (Sugiyama, Tagawa and Toda 1981).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace sinter::report {

struct Block {
  double width = 0, height = 0;
  std::vector<std::size_t> from;  ///< blocks that it reads, each once
};

/// A part of an edge: down from (x0, y0) to y = turn, then in a curve to (x1, y1). It crosses no block.
struct Link {
  double x0, y0, turn, x1, y1;
  bool arrives;  ///< at a block
};

struct Layering {
  std::vector<double> x, y;                                ///< upper left corner of each block
  std::vector<std::vector<Link>> links;                    ///< of the edges that leave each block; edges to several share a trunk
  std::vector<std::pair<std::size_t, std::size_t>> stubs;  ///< (from, to): edges that are too long to draw in a graph of thousands of layers
  double width = 0, height = 0;
};

Layering lay_out(std::span<const Block> blocks);

}  // namespace sinter::report
