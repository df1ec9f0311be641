#include "codegen/kernels/winograd_range.h"

#include <llvm/IR/Intrinsics.h>

#include <utility>

#include "codegen/emit/combine.h"
#include "codegen/emit/flow.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

// Magnitudes are the bits of absolute values, which as integers have the same order, and NaN above all.

/// What the functions depend on that convolutions share.
struct Form {
  std::int64_t results, taps;
  bool adjoint;  ///< the kernel is rotated, and its channels and features exchanged
  unsigned lanes;
};

/// The body of a shared function, and the words in which it is written.
class Body {
 public:
  explicit Body(llvm::Function* function) : b(function->getContext()), function_(function), outer_(std::exchange(current_builder(), &b)) {
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  }
  ~Body() { current_builder() = outer_; }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  Value* argument(unsigned i) const { return function_->getArg(i); }
  Value* number(std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); }
  Value* add(Value* x, Value* y) { return b.CreateAdd(x, y, "", true, true); }
  Value* mul(Value* x, Value* y) { return b.CreateMul(x, y, "", true, true); }
  Value* greater(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y); }
  Value* lesser(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y); }
  Value* at(Value* base, Value* offset) { return b.CreateInBoundsGEP(b.getFloatTy(), base, {offset}); }
  Value* load(llvm::Type* type, Value* from) { return b.CreateAlignedLoad(type, from, llvm::Align(4)); }
  void store(Value* x, Value* to) { b.CreateAlignedStore(x, to, llvm::Align(4)); }
  llvm::AllocaInst* variable(llvm::Type* type) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::AllocaInst* made = Builder(&entry, entry.begin()).CreateAlloca(type);
    made->setAlignment(llvm::Align(64));
    return made;
  }
  void loop(Value* begin, Value* end, std::int64_t step, const std::function<void(Value*)>& body) { emit_loop(b, begin, end, step, body); }
  void when(Value* condition, const std::function<void()>& body) { emit_when(b, condition, body); }
  /// The lanes from number `first` on that come before `end`.
  Value* lanes_below(Value* first, Value* end, unsigned width) {
    const auto narrow = [&](Value* x) { return b.CreateTrunc(x, b.getInt32Ty()); };
    return b.CreateICmpSLT(lane_numbers(narrow(first), width), b.CreateVectorSplat(width, narrow(end)));
  }
  /// Whether numbers of these magnitudes are so far apart that the transforms would lose the lesser.
  Value* too_far(Value* greatest, Value* least) {
    const auto as_float = [&](Value* bits) { return b.CreateBitCast(bits, b.getFloatTy()); };
    return b.CreateFCmpUGT(as_float(greatest), b.CreateFMul(as_float(least), llvm::ConstantFP::get(b.getFloatTy(), ir::most_spread)));
  }

  Builder b;

 private:
  llvm::Function* function_;
  Builder* const outer_;
};

/// The greatest of all channels of each of `count` adjacent pixels. Reads and writes up to a vector past them.
///   void (ptr to, ptr pixels, i64 count, i64 channels)
void define_magnitudes(Body& body, const Form& form) {
  Builder& b = body.b;
  const unsigned lanes = form.lanes;
  Value *to = body.argument(0), *pixels = body.argument(1), *count = body.argument(2), *channels = body.argument(3);
  llvm::Type* vector = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  std::vector<llvm::AllocaInst*> magnitudes(lanes);
  for (llvm::AllocaInst*& one : magnitudes) one = body.variable(vector);
  Value* whole = b.CreateAnd(channels, body.number(-std::int64_t{lanes}));
  body.loop(body.number(0), count, lanes, [&](Value* first) {
    for (llvm::AllocaInst* one : magnitudes) b.CreateStore(llvm::Constant::getNullValue(vector), one);
    const auto more = [&](Value* channel, Value* valid) {
      for (unsigned i = 0; i < lanes; ++i) {
        Value* bits = body.load(vector, body.at(pixels, body.add(body.mul(body.add(first, body.number(i)), channels), channel)));
        bits = b.CreateAnd(bits, llvm::ConstantInt::get(vector, 0x7fffffff));
        if (valid) bits = b.CreateSelect(valid, bits, llvm::Constant::getNullValue(vector));
        b.CreateStore(body.greater(b.CreateLoad(vector, magnitudes[i]), bits), magnitudes[i]);
      }
    };
    body.loop(body.number(0), whole, lanes, [&](Value* channel) { more(channel, nullptr); });
    body.when(b.CreateICmpSLT(whole, channels), [&] { more(whole, body.lanes_below(whole, channels, lanes)); });
    // Each round halves the lanes that a pixel has, and the number of vectors.
    std::vector<Value*> level;
    for (llvm::AllocaInst* one : magnitudes) level.push_back(b.CreateLoad(vector, one));
    std::vector<int> even, odd;
    for (unsigned i = 0; i < lanes; ++i) {
      even.push_back(static_cast<int>(2 * i));
      odd.push_back(static_cast<int>(2 * i + 1));
    }
    while (level.size() > 1) {
      for (std::size_t i = 0; i < level.size() / 2; ++i) {
        Value *x = level[2 * i], *y = level[2 * i + 1];
        level[i] = body.greater(b.CreateShuffleVector(x, y, even), b.CreateShuffleVector(x, y, odd));
      }
      level.resize(level.size() / 2);
    }
    body.store(level[0], body.at(to, first));
  });
  b.CreateRetVoid();
}

/// The greatest magnitude of each window of a strip, from those of its pixels, and whether any two of them are too far apart. Of the windows' columns
/// `covered` lie in tiles; results exist for `rows` rows and `columns` columns.
///   i1 (ptr windows, ptr magnitudes, i64 window_row, i64 pixel_row, i64 rows, i64 columns, i64 covered)
void define_windows(Body& body, const Form& form) {
  Builder& b = body.b;
  const unsigned lanes = form.lanes;
  Value *windows = body.argument(0), *magnitudes = body.argument(1), *window_row = body.argument(2), *pixel_row = body.argument(3);
  Value *rows = body.argument(4), *columns = body.argument(5), *covered = body.argument(6);
  llvm::Type* vector = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  llvm::AllocaInst *greatest = body.variable(vector), *least = body.variable(vector);
  Value *none = llvm::Constant::getNullValue(vector), *all = llvm::ConstantInt::get(vector, 0x7fffffff);
  b.CreateStore(none, greatest);
  b.CreateStore(all, least);
  body.loop(body.number(0), body.number(form.results), 1, [&](Value* row) {
    Value* exists = b.CreateVectorSplat(lanes, b.CreateICmpSLT(row, rows));
    body.loop(body.number(0), window_row, lanes, [&](Value* column) {
      Value* window = none;
      for (std::int64_t i = 0; i < form.taps; ++i)
        for (std::int64_t j = 0; j < form.taps; ++j) {
          Value* pixel = body.add(body.mul(body.add(row, body.number(i)), pixel_row), body.add(column, body.number(j)));
          window = body.greater(window, body.load(vector, body.at(magnitudes, pixel)));
        }
      body.store(window, body.at(windows, body.add(body.mul(row, window_row), column)));
      Value* in_tiles = b.CreateSelect(body.lanes_below(column, covered, lanes), window, none);
      b.CreateStore(body.greater(b.CreateLoad(vector, greatest), in_tiles), greatest);
      Value* existing = b.CreateSelect(b.CreateAnd(exists, body.lanes_below(column, columns, lanes)), window, all);
      b.CreateStore(body.lesser(b.CreateLoad(vector, least), existing), least);
    });
  });
  const auto reduced = [&](llvm::Intrinsic::ID how, llvm::AllocaInst* of) { return b.CreateUnaryIntrinsic(how, b.CreateLoad(vector, of)); };
  b.CreateRet(body.too_far(reduced(llvm::Intrinsic::vector_reduce_umax, greatest), reduced(llvm::Intrinsic::vector_reduce_umin, least)));
}

/// What mends a strip. Results and weights are rows of floats.
struct Mend {
  enum Argument : unsigned {
    results,  ///< ptr to the first result of the strip
    pixels,   ///< ptr to the copy of its pixels
    kernel,
    windows,     ///< ptr to the windows' magnitudes
    finite,      ///< ptr to a flag for each tile
    window_row,  ///< i64, like all that follow: from row to row of the windows
    pixel_row,   ///< of the copy, in pixels
    tiles,
    rows,     ///< that exist
    columns,  ///< that exist, and from row to row of the results
    channels,
    features,
    stride,         ///< floats from result to result
    kernel_stride,  ///< floats from row to row of the kernel
    count
  };
};

class MendFunction {
 public:
  MendFunction(Body& body, const Form& form) : body_(body), b_(body.b), form_(form) {}

  void define() {
    body_.loop(number(0), at(Mend::tiles), 1, [&](Value* tile) {
      Value *left = mul(tile, number(form_.results)), *right = lesser(add(left, number(form_.results)), at(Mend::columns));
      Value* greatest = b_.getInt32(0);
      for (std::int64_t r = 0; r < form_.results; ++r)
        for (std::int64_t c = 0; c < form_.results; ++c) greatest = body_.greater(greatest, magnitude(number(r), add(left, number(c))));
      Value* finite = b_.CreateICmpNE(body_.load(b_.getInt32Ty(), body_.at(at(Mend::finite), tile)), b_.getInt32(0));
      body_.loop(number(0), at(Mend::rows), 1, [&](Value* r) {
        body_.loop(left, right, 1, [&](Value* c) {
          Value* own = magnitude(r, c);
          body_.when(b_.CreateOr(body_.too_far(greatest, own), b_.CreateNot(finite)), [&] {
            Value* result = body_.at(at(Mend::results), mul(add(mul(r, at(Mend::columns)), c), at(Mend::stride)));
            Value* zero = b_.CreateAnd(finite, b_.CreateICmpEQ(own, b_.getInt32(0)));
            body_.when(zero, [&] {
              for_each_vector([&](Value* column) { body_.store(llvm::Constant::getNullValue(vector()), body_.at(result, column)); });
            });
            body_.when(b_.CreateNot(zero), [&] {
              Value* window = body_.at(at(Mend::pixels), mul(add(mul(r, at(Mend::pixel_row)), c), at(Mend::channels)));
              if (form_.adjoint) add_channels(window, result);
              else add_features(window, result);
            });
          });
        });
      });
    });
    b_.CreateRetVoid();
  }

 private:
  Value* at(unsigned argument) { return body_.argument(argument); }
  Value* number(std::int64_t n) { return body_.number(n); }
  Value* add(Value* x, Value* y) { return body_.add(x, y); }
  Value* mul(Value* x, Value* y) { return body_.mul(x, y); }
  Value* lesser(Value* x, Value* y) { return body_.lesser(x, y); }
  llvm::Type* vector(unsigned width) { return llvm::FixedVectorType::get(b_.getFloatTy(), width); }
  llvm::Type* vector() { return vector(form_.lanes); }
  Value* magnitude(Value* row, Value* column) {
    return body_.load(b_.getInt32Ty(), body_.at(at(Mend::windows), add(mul(row, at(Mend::window_row)), column)));
  }
  void accumulate(llvm::AllocaInst* sum, Value* x, Value* w) {
    llvm::Type* type = sum->getAllocatedType();
    b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, w, b_.CreateLoad(type, sum)}), sum);
  }
  /// Calls body with the first column of each vector of a row of results; the last may overlap the one before.
  void for_each_vector(const std::function<void(Value*)>& body) {
    Value* last = b_.CreateSub(at(Mend::stride), number(form_.lanes));
    body_.loop(number(0), at(Mend::stride), form_.lanes, [&](Value* column) { body(lesser(column, last)); });
  }
  /// Calls body with the number of each position of the kernel and its pixel's offset in the copy.
  void each_tap(const std::function<void(Value*, Value*)>& body) {
    body_.loop(number(0), number(form_.taps), 1, [&](Value* i) {
      body_.loop(number(0), number(form_.taps), 1,
                 [&](Value* j) { body(add(mul(i, number(form_.taps)), j), mul(add(mul(i, at(Mend::pixel_row)), j), at(Mend::channels))); });
    });
  }
  /// A row of features, in lanes.
  void add_features(Value* window, Value* result) {
    llvm::AllocaInst* sum = body_.variable(vector());
    for_each_vector([&](Value* column) {
      b_.CreateStore(llvm::Constant::getNullValue(vector()), sum);
      each_tap([&](Value* place, Value* from) {
        body_.loop(number(0), at(Mend::channels), 1, [&](Value* channel) {
          Value* x = body_.load(b_.getFloatTy(), body_.at(window, add(from, channel)));
          Value* row = mul(add(mul(place, at(Mend::channels)), channel), at(Mend::kernel_stride));
          accumulate(sum, b_.CreateVectorSplat(form_.lanes, x), body_.load(vector(), body_.at(at(Mend::kernel), add(row, column))));
        });
      });
      body_.store(b_.CreateLoad(vector(), sum), body_.at(result, column));
    });
  }
  /// Feature by feature, with the channels, which are adjacent in the kernel, in lanes that are added in the end.
  void add_channels(Value* window, Value* result) {
    llvm::AllocaInst* sum = body_.variable(vector(lanes));
    Value* last = number(form_.taps * form_.taps - 1);
    body_.loop(number(0), at(Mend::features), 1, [&](Value* feature) {
      b_.CreateStore(llvm::Constant::getNullValue(vector(lanes)), sum);
      each_tap([&](Value* place, Value* from) {
        Value* row = mul(add(mul(b_.CreateSub(last, place), at(Mend::features)), feature), at(Mend::kernel_stride));
        body_.loop(number(0), at(Mend::channels), lanes, [&](Value* channel) {
          Value* valid = body_.lanes_below(channel, at(Mend::channels), lanes);
          const auto some = [&](Value* x) {
            return b_.CreateSelect(valid, body_.load(vector(lanes), x), llvm::Constant::getNullValue(vector(lanes)));
          };
          accumulate(sum, some(body_.at(window, add(from, channel))), some(body_.at(at(Mend::kernel), add(row, channel))));
        });
      });
      body_.store(horizontal(Vec(b_.CreateLoad(vector(lanes), sum), DType::f32), Combine::sum).value, body_.at(result, feature));
    });
  }

  Body& body_;
  Builder& b_;
  const Form form_;
};

void define_mend(Body& body, const Form& form) { MendFunction(body, form).define(); }

/// A shared function of so many pointers, then numbers.
llvm::Function* shared(EmitContext& context, const char* what, const Form& form, bool returns_flag, unsigned pointers, unsigned numbers,
                       void (*define)(Body&, const Form&)) {
  llvm::LLVMContext& llvm = context.module.getContext();
  std::vector<llvm::Type*> types(pointers, llvm::PointerType::getUnqual(llvm));
  types.insert(types.end(), numbers, llvm::Type::getInt64Ty(llvm));
  llvm::Type* result = returns_flag ? llvm::Type::getInt1Ty(llvm) : llvm::Type::getVoidTy(llvm);
  auto* type = llvm::FunctionType::get(result, types, false);
  const std::string name = str("winograd_", what, "_", form.results, "_", form.taps, "_", form.lanes, form.adjoint ? "_adjoint" : "");
  return declare_shared(context, name, type, 150, [=](EmitContext& into) {
    llvm::Function* function = shared(into, what, form, returns_flag, pointers, numbers, define);
    function->addParamAttr(0, llvm::Attribute::NoAlias);
    Body body(function);
    define(body, form);
  });
}

}  // namespace

void WinogradRange::measure(Value* strip, Value* place, Value* first) {
  const std::int64_t row = plan_.w.copy, results = plan_.results(), taps = plan_.form->taps, shared_pixels = (taps - 1) * row;
  const Form form{results, taps, false, plan_.lanes(e_.unit())};
  const auto magnitudes = [&](std::int64_t from, std::int64_t count) {
    b_.CreateCall(shared(e_.context(), "magnitudes", {0, 0, false, form.lanes}, false, 2, 2, define_magnitudes),
                  {staged(plan_.magnitudes_at(), number(from)), staged(0, number(from * plan_.channels)), number(count), number(plan_.channels)});
  };
  // The first rows are the last ones of the strip above.
  Value* fresh = b_.CreateOr(b_.CreateICmpEQ(strip, first), b_.CreateICmpEQ(rem(strip, plan_.strips), number(0)));
  e_.when(fresh, [&] { magnitudes(0, shared_pixels); });
  e_.when(b_.CreateNot(fresh), [&] {
    llvm::Type* vector = e_.memory_type(DType::f32, lanes);
    e_.loop(number(0), number(shared_pixels), lanes, [&](Value* i) {
      Value* above = staged(plan_.magnitudes_at(), add(i, number(results * row)));
      b_.CreateAlignedStore(b_.CreateAlignedLoad(vector, above, llvm::Align(4)), staged(plan_.magnitudes_at(), i), llvm::Align(4));
    });
  });
  magnitudes(shared_pixels, results * row);
  Value* uneven = b_.CreateCall(shared(e_.context(), "windows", form, true, 2, 5, define_windows),
                                {windows(place), staged(plan_.magnitudes_at(), number(0)), number(plan_.window_row()), number(row), rows(strip),
                                 number(plan_.out_w), number(plan_.tiles_a_strip * results)});
  note(staged(plan_.strip_flags_at(), place), uneven);
}

void WinogradRange::note_finite(Value* tile, Value* place, Value* finite) {
  note(staged(plan_.tile_flags_at(), tile), finite);
  e_.when(b_.CreateNot(finite), [&] { note(staged(plan_.strip_flags_at(), place), b_.getTrue()); });
}

void WinogradRange::mend(Value* strip, Value* place, const std::function<void()>& copy_pixels) {
  Value* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), staged(plan_.strip_flags_at(), place), llvm::Align(4));
  e_.when(b_.CreateICmpNE(flag, b_.getInt32(0)), [&] {
    copy_pixels();
    const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(e_.anchor().op);
    const ValueId kernel = e_.value_of(e_.anchor().inputs[1]);
    Value* line = add(mul(div(strip, plan_.strips), plan_.out_h), top(strip));
    std::vector<Value*> arguments(Mend::count);
    arguments[Mend::results] = e_.address(e_.memory(Memory::collected), mul(line, plan_.out_w), number(0));
    arguments[Mend::pixels] = staged(0, number(0));
    arguments[Mend::kernel] = e_.pointer(kernel);
    arguments[Mend::windows] = windows(place);
    arguments[Mend::finite] = staged(plan_.tile_flags_at(), number(0));
    arguments[Mend::window_row] = number(plan_.window_row());
    arguments[Mend::pixel_row] = number(plan_.w.copy);
    arguments[Mend::tiles] = number(plan_.tiles_a_strip);
    arguments[Mend::rows] = rows(strip);
    arguments[Mend::columns] = number(plan_.out_w);
    arguments[Mend::channels] = number(plan_.channels);
    arguments[Mend::features] = number(plan_.columns);
    arguments[Mend::stride] = number(plan_.stride);
    arguments[Mend::kernel_stride] = number(stride_of(kernel));
    b_.CreateCall(shared(e_.context(), "mend", {plan_.results(), plan_.form->taps, adjoint, plan_.lanes(e_.unit())}, false, Mend::window_row,
                         Mend::count - Mend::window_row, define_mend),
                  arguments);
  });
}

}  // namespace sinter::codegen
