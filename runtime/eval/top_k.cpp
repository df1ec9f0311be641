// The positions of the k greatest elements of each row: the best so far in a heap, or all in order by radix (ir/radix.h).
#include <array>
#include <numeric>
#include <ranges>
#include <span>

#include "ir/radix.h"
#include "runtime/eval/eval.h"

namespace sinter::runtime::eval {

namespace {

template <class T>
void by_heap(const T* row, std::int64_t elements, std::span<std::int32_t> places) {
  // A total order, so that the algorithm does not matter.
  const auto before = [row](std::int32_t a, std::int32_t b) {
    const std::uint32_t p = ir::order_key(row[a]), q = ir::order_key(row[b]);
    return p != q ? p < q : a < b;
  };
  const auto all = std::views::iota(0, static_cast<std::int32_t>(elements));
  std::partial_sort_copy(all.begin(), all.end(), places.begin(), places.end(), before);
}

template <class T>
void by_radix(const T* row, std::int64_t elements, std::span<std::int32_t> places) {
  struct Item {
    std::uint32_t key;
    std::int32_t place;
  };
  static_assert(ir::radix_passes == 3);
  const auto digit = [](std::uint32_t key, int pass) { return (key >> (pass * ir::radix_bits)) % ir::radix_size; };
  // Where the next item of each digit goes.
  std::array<std::array<std::int64_t, ir::radix_size>, ir::radix_passes> next{};
  for (std::int64_t i = 0; i < elements; ++i)
    for (int pass = 0; pass < ir::radix_passes; ++pass) ++next[pass][digit(ir::order_key(row[i]), pass)];
  for (auto& of_pass : next) std::exclusive_scan(of_pass.begin(), of_pass.end(), of_pass.begin(), std::int64_t{0});

  const auto count = static_cast<std::size_t>(elements);
  const Buffer memory = Buffer::allocate(2 * count * sizeof(Item));
  const std::span first(reinterpret_cast<Item*>(memory.data()), count), second(first.data() + count, count);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint32_t key = ir::order_key(row[i]);
    first[next[0][digit(key, 0)]++] = {key, static_cast<std::int32_t>(i)};
  }
  for (const Item item : first) second[next[1][digit(item.key, 1)]++] = item;
  for (const Item item : second)
    if (const std::int64_t to = next[2][digit(item.key, 2)]++; to < std::ssize(places)) places[to] = item.place;
}

template <class T>
void greatest_places(const View& x, const View& out) {
  const Layout layout = out.layout(), from = x.layout();
  for_rows(out, 8 * from.cols, [&](std::int64_t r) {
    const T* row = x.as<T>() + r * from.stride;
    const std::span places(out.as<std::int32_t>() + r * layout.stride, static_cast<std::size_t>(layout.cols));
    if (ir::orders_whole_rows(layout.cols, from.cols)) by_radix(row, from.cols, places);
    else by_heap(row, from.cols, places);
  });
}

}  // namespace

void run(const ir::TopK&, Views operands, const View& out) {
  const View& x = operands[0];
  if (is_float(x.type.dtype)) greatest_places<float>(x, out);
  else if (x.type.dtype == DType::i32) greatest_places<std::int32_t>(x, out);
  else greatest_places<std::uint32_t>(x, out);
}

}  // namespace sinter::runtime::eval
