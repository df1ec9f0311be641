#include "runtime/chrome_trace.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "ir/error.h"

namespace sinter::runtime {

namespace {

struct Event {
  std::uint32_t step;
  Span span;
};

/// The spans of one thread of the process.
struct ThreadSpans {
  std::vector<Event> events;
  std::size_t dropped = 0;
};

struct Step {
  std::string name;
  std::vector<KernelSpec> kernels;
};

}  // namespace

struct ChromeTrace::Impl {
  std::string path;
  std::mutex mutex;
  std::vector<Step> steps;
  std::vector<std::unique_ptr<ThreadSpans>> threads;  ///< in the order in which they came
  bool written = false;

  ThreadSpans& add_thread() {
    const std::scoped_lock lock(mutex);
    threads.push_back(std::make_unique<ThreadSpans>());
    threads.back()->events.reserve(most_spans);
    return *threads.back();
  }

  void record(std::uint32_t step, const Span& span) {
    thread_local ThreadSpans& spans = add_thread();
    if (spans.events.size() < most_spans) spans.events.push_back({step, span});
    else ++spans.dropped;
  }

  static nlohmann::json event(const Step& step, const Span& span, std::size_t lane, std::uint64_t zero) {
    const KernelSpec& kernel = step.kernels[span.kernel];
    const double share = static_cast<double>(span.end - span.begin) / static_cast<double>(kernel.units.extent(span.sizes));
    const double flops = kernel.work.flops.at(span.sizes) * share, spent = static_cast<double>(span.stop - span.start);
    return {{"name", kernel.name},
            {"cat", step.name},
            {"ph", "X"},
            {"pid", 0},
            {"tid", lane},
            {"ts", static_cast<double>(span.start - zero) / 1e3},
            {"dur", spent / 1e3},
            {"args",
             {{"kernel", span.kernel},
              {"flops", flops},
              {"bytes", kernel.work.bytes.at(span.sizes) * share},
              {"gflops", spent > 0 ? flops / spent : 0.0},
              {"units", {span.begin, span.end}},
              {"N", span.sizes.n}}}};
  }

  void write() {
    const std::scoped_lock lock(mutex);
    std::uint64_t zero = ~std::uint64_t{0};
    std::size_t dropped = 0;
    for (const auto& thread : threads) {
      dropped += thread->dropped;
      for (const Event& e : thread->events) zero = std::min(zero, e.span.start);
    }
    std::ofstream file(path, std::ios::trunc);
    file << R"({"displayTimeUnit":"ns","otherData":{"dropped_spans":)" << str(dropped) << R"(},"traceEvents":[)";
    const char* comma = "\n";
    for (std::size_t lane = 0; lane < threads.size(); ++lane) {
      const nlohmann::json name{{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", lane}, {"args", {{"name", str("thread ", lane)}}}};
      file << std::exchange(comma, ",\n") << name.dump();
      for (const Event& e : threads[lane]->events) file << comma << event(steps[e.step], e.span, lane, zero).dump();
    }
    file << "\n]}\n";
    written = true;
    if (!file.flush()) throw UserError("SINTER_PROFILE", str("cannot write ", path, "; name a file in a folder that you may write to"));
  }
};

ChromeTrace& ChromeTrace::at(const std::string& path) {
  static ChromeTrace trace(path);
  return trace;
}

ChromeTrace::ChromeTrace(std::string path) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  if (!std::ofstream(impl_->path, std::ios::app))
    throw UserError("SINTER_PROFILE", str("cannot write ", impl_->path, "; name a file in a folder that you may write to"));
}

ChromeTrace::~ChromeTrace() {
  if (impl_->written) return;
  try {
    impl_->write();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
}

SpanObserver ChromeTrace::observer(const std::string& step, const std::vector<KernelSpec>& kernels) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->steps.push_back({step, kernels});
  return [impl = impl_.get(), number = static_cast<std::uint32_t>(impl_->steps.size() - 1)](const Span& span) { impl->record(number, span); };
}

void ChromeTrace::write() { impl_->write(); }

}  // namespace sinter::runtime
