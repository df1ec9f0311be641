// Shows how a model is compiled: the graph as traced, after each pass, and as kernels.
#include <sinter/sinter.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>

using namespace sinter;
namespace fs = std::filesystem;

int main() {
  const fs::path folder = fs::temp_directory_path() / ("sinter_inspect_" + std::to_string(std::random_device{}()));
  fs::create_directories(folder);
  setenv("SINTER_DUMP", folder.c_str(), 1);  // from the shell: SINTER_DUMP=folder program

  nn::Sequential model{nn::Dense(8, 4, Activation::sigmoid), nn::Dense(4, 3)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::RMSprop optimizer;
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = loss::categorical_crossentropy_from_logits(model(x), y);
    optimizer.update(parameters, grad(loss, parameters));
    return loss;
  });
  const Tensor x = Tensor::filled({DType::f32, {5, 8}}, 0.25), y(std::vector<std::int32_t>{0, 1, 2, 1, 0}, {5});
  step(x, y);

  std::cout << "=== as traced\n" << ir::to_text(step.core()->traced_graph());
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  for (const fs::path& file : files)
    if (file.extension() == ".txt") std::cout << "=== " << file.filename().string() << "\n" << std::ifstream(file).rdbuf();
  std::cout << "=== explain()\n" << step.explain();
  fs::remove_all(folder);
  return step.verify(x, y).ok() ? 0 : 1;
}
