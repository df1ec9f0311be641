// libtorch from C++, eager: call_overhead, mlp_b500, lenet_b64, lenet_infer_b1.
// usage: libtorch_peer THREADS [REPEATS]; prints the same JSON lines as the Python peers.
#include <torch/torch.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace F = torch::nn::functional;
static int threads = 2, repeats = 5;
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Step>
void bench(const char* workload, const char* mode, const char* metric, const char* unit, double scale, Step step) {
  double begin = now(), last = 0;
  for (int i = 0; i < 5; i++) {
    double t = now();
    step();
    last = now() - t;
  }
  double warm = now() - begin;
  int inner = std::max(1, std::min(100000, int(0.4 / last)));
  std::vector<double> times;
  for (int r = 0; r < repeats; r++) {
    double t = now();
    for (int i = 0; i < inner; i++) step();
    times.push_back((now() - t) / inner);
  }
  std::sort(times.begin(), times.end());
  double med = (times[repeats / 2] + times[(repeats - 1) / 2]) / 2;
  std::printf(
      "{\"peer\": \"libtorch-c++\", \"version\": \"%s\", \"mode\": \"%s\", \"workload\": \"%s\", \"threads\": %d, \"metric\": \"%s\", "
      "\"unit\": \"%s\", \"min\": %.9g, \"median\": %.9g, \"n\": %d, \"calls_per_repeat\": %d, \"compile_s\": %.4f}\n",
      TORCH_VERSION, mode, workload, threads, metric, unit, times[0] * scale, med * scale, repeats, inner, std::max(0.0, warm - 5 * med));
  std::fflush(stdout);
}

// As Module.to(memory_format=torch.channels_last) does: strides change even for one channel.
static torch::Tensor nhwc(const torch::Tensor& t) { return t.to(t.options(), false, true, at::MemoryFormat::ChannelsLast); }
static void nhwc(torch::nn::Sequential& net) {
  for (auto& p : net->parameters())
    if (p.dim() == 4) p.set_data(nhwc(p));
}

static torch::nn::Sequential lenet() {
  using namespace torch::nn;
  return Sequential(Conv2d(1, 20, 5), MaxPool2d(2), Conv2d(20, 50, 5), MaxPool2d(2), Flatten(), Linear(800, 500), ReLU(), Linear(500, 10));
}

int main(int argc, char** argv) {
  if (argc > 1) threads = std::atoi(argv[1]);
  if (argc > 2) repeats = std::atoi(argv[2]);
  torch::set_num_threads(threads);
  torch::set_num_interop_threads(1);
  torch::manual_seed(0);
  {
    c10::InferenceMode guard;
    auto x = torch::rand({1, 4}), w = torch::rand({4, 4}), b = torch::rand({4});
    bench("call_overhead", "inference_mode", "call_us", "us", 1e6, [&] { return torch::sigmoid(torch::addmm(b, x, w)); });
    auto net = lenet();
    net->eval();
    auto image = torch::rand({1, 1, 28, 28});
    bench("lenet_infer_b1", "eager", "call_s", "s", 1, [&] { return net->forward(image); });
    nhwc(net);
    image = nhwc(image);
    bench("lenet_infer_b1", "eager_nhwc", "call_s", "s", 1, [&] { return net->forward(image); });
  }
  {
    using namespace torch::nn;
    Linear l1(784, 70), l2(70, 30), l3(30, 10);
    Sequential net(l1, Sigmoid(), l2, Sigmoid(), l3, Sigmoid());
    torch::optim::RMSprop opt(net->parameters(), torch::optim::RMSpropOptions(1e-3).alpha(0.9).eps(1e-7));
    std::vector<torch::Tensor> xs, ys;
    for (int i = 0; i < 120; i++) {
      xs.push_back(torch::rand({500, 784}));
      ys.push_back(torch::one_hot(torch::randint(10, {500}), 10).to(torch::kFloat));
    }
    size_t i = 0;
    bench("mlp_b500", "eager", "step_s", "s", 1, [&] {
      auto& x = xs[i % xs.size()];
      auto& y = ys[i++ % xs.size()];
      auto s = net->forward(x);
      auto p = (s / s.sum(1, true)).clamp(1e-7, 1 - 1e-7);
      auto loss = -(y * p.log()).sum(1).mean() + 0.01 * (l1->weight.square().sum() + l2->weight.square().sum());
      opt.zero_grad();
      loss.backward();
      opt.step();
    });
  }
  for (bool channels_last : {false, true}) {
    auto net = lenet();
    auto x = torch::rand({64, 1, 28, 28});
    auto y = torch::randint(10, {64});
    if (channels_last) {
      x = nhwc(x);
      nhwc(net);
    }
    torch::optim::SGD opt(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
    bench("lenet_b64", channels_last ? "eager_nhwc" : "eager", "step_s", "s", 1, [&] {
      auto loss = F::cross_entropy(net->forward(x), y);
      opt.zero_grad();
      loss.backward();
      opt.step();
    });
  }
}
