#include "codegen/kernels/convolution_words.h"

namespace sinter::codegen {

using llvm::Value;

void ConvolutionWords::choose_tiles(std::int64_t rows, std::int64_t columns) {
  tiles_ = plan_tiles(rows, columns, e_.unit());
  e_.note(str(ir::name(node_.op), ", ", to_text(plan_, tiles_)));
}

void ConvolutionWords::for_each_image(const std::function<void(Value*)>& body) {
  const Rows images = e_.indices(1);
  e_.loop(images.first, images.last, 1, body);
}

void ConvolutionWords::for_each_block(Value* image, Value* begin, Value* end, std::int64_t most, const std::function<void(Value*, Value*)>& body) {
  const auto& h = plan_.h;
  const auto block = [&](Value* from, Value* to) {
    Value *first = mul(from, h.step), *last = add(mul(sub(to, number(1)), h.step), number(plan_.rows_under(1)));
    ImageCopy(e_, source_, h, plan_.w, plan_.channels, plan_.groups, plan_.plane_elements(most)).rows(image, first, last, copy_at(number(0)));
    body(from, to);
  };
  if (most == h.windows) return block(begin, end);
  e_.loop(begin, end, most, [&](Value* from) { block(from, least(add(from, number(most)), end)); });
}

}  // namespace sinter::codegen
