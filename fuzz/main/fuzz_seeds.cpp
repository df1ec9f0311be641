// Writes the inputs that fuzzing begins with: sinter_fuzz_seeds FOLDER makes FOLDER/TARGET/seed-NAME for each target.
#include <fstream>
#include <iostream>

#include "fuzz/target.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: sinter_fuzz_seeds FOLDER\n";
    return 2;
  }
  for (const sinter::fuzz::Target& target : sinter::fuzz::targets()) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
    std::filesystem::create_directories(folder);
    const auto seeds = target.seeds();
    for (const auto& [name, bytes] : seeds) {
      std::ofstream out(folder / ("seed-" + name), std::ios::binary);
      if (!(out << bytes).flush()) throw std::runtime_error("cannot write to " + folder.string());
    }
    std::cout << target.name << ": " << seeds.size() << " inputs\n";
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
