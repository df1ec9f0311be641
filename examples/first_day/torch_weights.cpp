// Loads the weights of a PyTorch model into a Sinter model and writes them for NumPy. In Python:
//   net = nn.Sequential(nn.Linear(12, 9), nn.ReLU(), nn.BatchNorm1d(9), nn.Linear(9, 5), nn.LayerNorm(5), nn.Linear(5, 3, bias=False)).eval()
//   safetensors.torch.save_file(net.state_dict(), "net.safetensors"); np.save("x.npy", x); np.save("y.npy", net(x).numpy())
// Then: torch_weights net.safetensors x.npy y.npy net.npz; and in Python: np.load("net.npz")["dense_1.weight"]
#include <sinter/sinter.h>

#include <iostream>

using namespace sinter;

nn::Sequential network() {
  return nn::Sequential{nn::Dense(12, 9, Activation::relu), nn::BatchNorm(9, {.epsilon = 1e-5f}), nn::Dense(9, 5),
                        nn::LayerNorm(5, {.epsilon = 1e-5f}), nn::Dense(5, 3, Activation::none, {.use_bias = false})};
}

int main(int argc, char** argv) try {
  if (argc != 5) throw UserError("torch_weights", "needs four files: WEIGHTS.safetensors X.npy Y.npy OUT.npz");
  for (const auto& [name, tensor] : weights::read(argv[1])) std::cout << name << " " << tensor.type() << "\n";

  nn::Sequential model = network();
  weights::load(model, argv[1], {.convention = weights::Convention::pytorch});  // transposes [out, in], and maps layers in their order

  const Tensor x = data::npy(argv[2]), y = data::npy(argv[3]);
  auto predict = compile([&](const Tensor& x) { return model(x); });
  const double difference = max(abs(predict(x) - y)).item();
  std::cout << "greatest difference to PyTorch: " << difference << "\n";

  weights::save(model, argv[4]);
  nn::Sequential copy = network();
  weights::load(copy, argv[4]);
  const bool same = max(abs(copy(x) - model(x))).item() == 0;
  std::cout << "wrote " << argv[4] << (same ? ", and read it back" : ", WHICH READS BACK AS SOMETHING ELSE") << "\n";
  return difference < 1e-5 && same ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
