// Scores a stream of transactions, one at a time, with the model that fraud_train saved. The C++ code that defined the model is not needed.
#include <sinter/sinter.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace sinter;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fraud_score MODEL.sinter STREAM.csv\n";
    return 2;
  }
  try {
    Trainer model = Trainer::load(argv[1]);
    std::ifstream stream(argv[2]);
    if (!stream) throw UserError(argv[2], "cannot be opened; run fraud_train first");
    std::vector<float> transaction(30), scores, labels, score(1);
    double seconds = 0;
    for (std::string line; std::getline(stream, line);) {
      std::istringstream fields(line);
      char comma = ',';
      for (float& value : transaction) fields >> value >> comma;
      float is_fraud = 0;
      if (!(fields >> is_fraud)) throw UserError(argv[2], str("line ", scores.size() + 1, " must hold 30 numbers and 0 or 1, with commas between"));
      const auto start = std::chrono::steady_clock::now();
      model.predict_one(transaction, score);
      if (!scores.empty()) seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();  // the first call compiles
      scores.push_back(score[0]);
      labels.push_back(is_fraud);
    }
    const auto count = static_cast<std::int64_t>(scores.size());
    if (count < 2) throw UserError(argv[2], str("needs at least 2 transactions, there are ", count));
    const metric::Pointer auc = metric::auc();
    auc->add(Tensor(scores, {count}), Tensor(labels, {count}));
    std::cout << count << " transactions, " << seconds / static_cast<double>(count - 1) * 1e6 << " us each, AUC " << auc->result() << "\n";
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
