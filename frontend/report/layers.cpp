#include "frontend/report/layers.h"

#include <algorithm>
#include <numeric>

namespace sinter::report {

namespace {

constexpr double layer_gap = 46, block_gap = 22, lane = 8;
constexpr std::size_t most_lanes = 20000, none = static_cast<std::size_t>(-1);

/// A block, or the crossing of a layer by a longer edge ("lane").
struct Item {
  std::size_t block = none, layer = 0;
  double width = lane, x = 0;  // x: of its middle
  std::size_t place = 0;       // in its layer, from the left
  std::vector<std::size_t> up, down;
};

/// Longest path from the blocks that read none. Blocks in or after a cycle stay in layer 0: their edges become stubs.
std::vector<std::size_t> layers_of(std::span<const Block> blocks) {
  std::vector<std::size_t> layer(blocks.size()), waits(blocks.size()), ready;
  std::vector<std::vector<std::size_t>> users(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    waits[b] = blocks[b].from.size();
    if (waits[b] == 0) ready.push_back(b);
    for (const std::size_t from : blocks[b].from) users[from].push_back(b);
  }
  for (std::size_t next = 0; next < ready.size(); ++next)
    for (const std::size_t user : users[ready[next]]) {
      layer[user] = std::max(layer[user], layer[ready[next]] + 1);
      if (--waits[user] == 0) ready.push_back(user);
    }
  for (std::size_t k = ready.size(); k-- > 0;) {  // blocks that read at most one go just above their first reader: the total length is no greater
    const std::size_t b = ready[k];
    if (blocks[b].from.size() > 1 || users[b].empty()) continue;
    std::size_t first = none;
    for (const std::size_t user : users[b]) first = std::min(first, layer[user]);
    layer[b] = std::max(layer[b], std::max<std::size_t>(1, first) - 1);
  }
  return layer;
}

class Sketch {
 public:
  explicit Sketch(std::span<const Block> blocks) : blocks_(blocks), items_(blocks.size()), stubs_() {
    const std::vector<std::size_t> layer = layers_of(blocks);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      items_[b].block = b;
      items_[b].layer = layer[b];
      items_[b].width = blocks[b].width;
    }
    join();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (layers_.size() <= items_[i].layer) layers_.resize(items_[i].layer + 1);
      layers_[items_[i].layer].push_back(i);
    }
    number();
    order();
    place();
  }

  Layering result() {
    Layering out{
        std::vector<double>(blocks_.size()), std::vector<double>(blocks_.size()), std::vector<std::vector<Link>>(blocks_.size()), stubs_, 0, 0};
    double left = 0, y = 0;
    for (const Item& item : items_) left = std::min(left, item.x - item.width / 2);
    std::vector<double> top, bottom;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::size_t i : layer)
        if (items_[i].block != none) height = std::max(height, blocks_[i].height);
      top.push_back(y);
      bottom.push_back(y + height);
      y += height + layer_gap;
    }
    for (Item& item : items_) {
      item.x -= left;
      out.width = std::max(out.width, item.x + item.width / 2);
      if (item.block == none) continue;
      out.x[item.block] = item.x - item.width / 2;
      out.y[item.block] = top[item.layer];
    }
    out.height = bottom.empty() ? 0 : bottom.back();
    std::vector<std::size_t> source(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) source[i] = i;
    for (std::size_t b = 0; b < blocks_.size(); ++b)  // the lanes of a block's trunk
      for (std::size_t i = b;;) {
        const auto next = std::find_if(items_[i].down.begin(), items_[i].down.end(), [&](std::size_t d) { return items_[d].block == none; });
        if (next == items_[i].down.end()) break;
        source[*next] = b;
        i = *next;
      }
    for (Item& item : items_) {  // the ends of edges, from left to right in the order of their starts
      std::sort(item.up.begin(), item.up.end(), [&](std::size_t a, std::size_t b) { return items_[a].x < items_[b].x; });
      const double apart = item.block == none ? 0 : std::min(18.0, 0.7 * item.width / static_cast<double>(item.up.size()));
      for (std::size_t k = 0; k < item.up.size(); ++k) {
        const Item& from = items_[item.up[k]];
        const double begin = from.block == none ? top[from.layer] : top[from.layer] + blocks_[from.block].height;
        const double shift = apart * (static_cast<double>(k) - static_cast<double>(item.up.size() - 1) / 2);
        out.links[source[item.up[k]]].push_back({from.x, begin, bottom[from.layer], item.x + shift, top[item.layer], item.block != none});
      }
    }
    return out;
  }

 private:
  /// Makes edges into chains from layer to layer; the longest become stubs where there would be too many lanes.
  void join() {
    std::vector<std::vector<std::size_t>> targets(blocks_.size());
    std::size_t longest = items_.size();
    const auto lanes = [&] {
      std::size_t count = 0;
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        std::size_t span = 0;
        for (const std::size_t to : targets[b])
          if (items_[to].layer - items_[b].layer <= longest) span = std::max(span, items_[to].layer - items_[b].layer);
        count += span;
      }
      return count;
    };
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (const std::size_t from : blocks_[b].from) {
        if (items_[from].layer < items_[b].layer) targets[from].push_back(b);
        else stubs_.emplace_back(from, b);
      }
    while (longest > 1 && lanes() > most_lanes + blocks_.size()) longest /= 2;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      std::sort(targets[b].begin(), targets[b].end(),
                [&](std::size_t x, std::size_t y) { return std::pair(items_[x].layer, x) < std::pair(items_[y].layer, y); });
      std::size_t at = b;
      for (const std::size_t to : targets[b]) {
        if (items_[to].layer - items_[b].layer > longest) {
          stubs_.emplace_back(b, to);
          continue;
        }
        while (items_[at].layer + 1 < items_[to].layer) {
          items_.push_back({});
          items_.back().layer = items_[at].layer + 1;
          connect(at, items_.size() - 1);
          at = items_.size() - 1;
        }
        connect(at, to);
      }
    }
  }

  void connect(std::size_t from, std::size_t to) {
    items_[from].down.push_back(to);
    items_[to].up.push_back(from);
  }

  void number() {
    for (const auto& layer : layers_)
      for (std::size_t i = 0; i < layer.size(); ++i) items_[layer[i]].place = i;
  }

  std::size_t crossings() const {
    std::size_t count = 0;
    for (const auto& layer : layers_) {
      std::vector<std::size_t> seen;  // ends of the edges so far, sorted: those beyond a new one's end cross it
      for (const std::size_t i : layer) {
        std::vector<std::size_t> ends;
        for (const std::size_t d : items_[i].down) ends.push_back(items_[d].place);
        for (const std::size_t end : ends) count += static_cast<std::size_t>(seen.end() - std::upper_bound(seen.begin(), seen.end(), end));
        for (const std::size_t end : ends) seen.insert(std::upper_bound(seen.begin(), seen.end(), end), end);
      }
    }
    return count;
  }

  /// Sorts each layer by the mean position of its neighbours, alternately downwards and upwards; keeps the best order.
  void order() {
    auto best = layers_;
    std::size_t fewest = crossings();
    for (int sweep = 0; sweep < 16 && fewest > 0; ++sweep) {
      const bool downwards = sweep % 2 == 0;
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        auto& layer = layers_[downwards ? k : layers_.size() - 1 - k];
        const auto before = layer;
        std::vector<std::pair<double, std::size_t>> wanted;  // and the present position, so that equal ones stay in order
        for (const std::size_t i : layer) {
          const auto& near = downwards ? items_[i].up : items_[i].down;
          double sum = 0;
          for (const std::size_t n : near) sum += static_cast<double>(items_[n].place);
          wanted.emplace_back(near.empty() ? static_cast<double>(items_[i].place) : sum / static_cast<double>(near.size()), items_[i].place);
        }
        std::sort(wanted.begin(), wanted.end());
        for (std::size_t i = 0; i < layer.size(); ++i) {
          layer[i] = before[wanted[i].second];
          items_[layer[i]].place = i;
        }
      }
      if (const std::size_t count = crossings(); count < fewest) {
        fewest = count;
        best = layers_;
      }
    }
    layers_ = std::move(best);
    number();
  }

  /// Places the middles of a layer's items as near to their desired positions as order and gaps allow, by least squares: pooling adjacent
  /// violators (Barlow et al. 1972). Lanes pull harder than blocks, so that long edges are straight.
  void settle(const std::vector<std::size_t>& layer, bool up, bool down) {
    struct Pool {
      double sum, weight;
      std::size_t count;
    };
    std::vector<Pool> pools;
    std::vector<double> offset;
    double at = 0;
    for (std::size_t k = 0; k < layer.size(); ++k) {
      const Item& item = items_[layer[k]];
      if (k) at += (items_[layer[k - 1]].width + item.width) / 2 + block_gap;
      offset.push_back(at);
      double sum = 0;
      std::size_t count = 0;
      const auto add = [&](const std::vector<std::size_t>& near) {
        for (const std::size_t n : near) sum += items_[n].x;
        count += near.size();
      };
      if (up) add(item.up);
      if (down && !(up && item.block == none)) add(item.down);  // lanes continue straight from what is above them
      const double wanted = count ? sum / static_cast<double>(count) : item.x, weight = item.block == none ? 8 : count ? 1 : 0.1;
      pools.push_back({(wanted - at) * weight, weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].sum / pools[pools.size() - 2].weight > pools.back().sum / pools.back().weight) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().weight += last.weight;
        pools.back().count += last.count;
      }
    }
    std::size_t k = 0;
    for (const Pool& pool : pools)
      for (std::size_t i = 0; i < pool.count; ++i, ++k) items_[layer[k]].x = pool.sum / pool.weight + offset[k];
  }

  void place() {
    for (const auto& layer : layers_) settle(layer, false, false);
    for (int round = 0; round < 6; ++round) {
      for (std::size_t k = 0; k < layers_.size(); ++k) settle(layers_[k], true, false);
      for (std::size_t k = layers_.size(); k-- > 0;) settle(layers_[k], false, true);
    }
    for (int round = 0; round < 4; ++round)
      for (const auto& layer : layers_) settle(layer, true, true);
  }

  std::span<const Block> blocks_;
  std::vector<Item> items_;  // first the blocks
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<std::pair<std::size_t, std::size_t>> stubs_;
};

}  // namespace

Layering lay_out(std::span<const Block> blocks) { return Sketch(blocks).result(); }

}  // namespace sinter::report
