// Networks that no kernel was written for, to see how fast others are: each is a workload NAME_b32, a training step, and NAME_infer_b1 and _b32.
// bench/peers/networks.py has the same ones for other frameworks.
#pragma once

#include "bench/network.h"

namespace sinter::bench {

struct NetworkSpec {
  const char* name;
  std::shared_ptr<nn::Module> (*make)();
  Batch (*inputs)(std::int64_t samples, std::uint64_t stream);
  Tensor (*targets)(std::int64_t samples, std::uint64_t stream);
  Loss loss;
};

std::vector<NetworkSpec> residual_networks();
/// MobileNetV2 and EfficientNet-B0.
std::vector<NetworkSpec> depthwise_networks();
/// DenseNet, U-Net, an autoencoder.
std::vector<NetworkSpec> image_networks();
/// Wide and deep perceptrons, MLP-Mixer, DLRM.
std::vector<NetworkSpec> perceptrons();

std::vector<Workload> network_workloads();

// ---- what they share ----
/// A convolution without bias and batch normalization.
nn::Sequential normalized_convolution(std::int64_t channels, std::int64_t features, std::int64_t size, std::int64_t stride = 1,
                                      nn::Activation activation = nn::Activation::none, std::int64_t groups = 1);
/// Images of a number of pixels a side, and ten classes.
template <std::int64_t side>
Batch images_of(std::int64_t samples, std::uint64_t stream) {
  return {uniform({samples, side, side, 3}, 0, 1, stream)};
}
Tensor ten_classes(std::int64_t samples, std::uint64_t stream);

}  // namespace sinter::bench
