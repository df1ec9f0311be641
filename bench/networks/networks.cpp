#include "bench/networks/networks.h"

namespace sinter::bench {

nn::Sequential normalized_convolution(std::int64_t channels, std::int64_t features, std::int64_t size, std::int64_t stride, nn::Activation activation,
                                      std::int64_t groups) {
  nn::Sequential layers{nn::Conv2D(channels, features, {size}, nn::Activation::none,
                                   {.strides = {stride}, .padding = Padding::around({size / 2, size / 2}), .groups = groups, .use_bias = false}),
                        nn::BatchNorm(features)};
  if (activation != nn::Activation::none) layers += nn::ActivationLayer(activation);
  return layers;
}

Tensor ten_classes(std::int64_t samples, std::uint64_t stream) { return labels(samples, 10, stream); }

std::vector<Workload> network_workloads() {
  constexpr std::int64_t batch = 32, batches = 2;
  std::vector<Workload> list;
  for (const auto& group : {residual_networks(), depthwise_networks(), image_networks(), perceptrons()})
    for (const NetworkSpec& network : group) {
      const std::string name = network.name;
      list.push_back({name + "_b32", [network, name](const RunSettings& settings) {
                        std::vector<Batch> all;
                        for (std::uint64_t i = 0; i < batches; ++i) {
                          all.push_back(network.inputs(batch, 200 + i));
                          all.back().push_back(network.targets(batch, 210 + i));
                        }
                        seed(3);
                        return training(name.c_str(), network.make(), network.loss,
                                        std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = 0.001, .momentum = 0.9}), std::move(all),
                                        settings);
                      }});
      for (const std::int64_t samples : {std::int64_t{1}, batch})
        list.push_back({str(name, "_infer_b", samples), [network, name, samples](const RunSettings& settings) {
                          seed(3);
                          return inference(name.c_str(), network.make(), network.inputs(samples, 220), settings);
                        }});
    }
  return list;
}

}  // namespace sinter::bench
