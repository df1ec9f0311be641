// Recurrent layers: a cell that runs over the steps of sequences, one after the other.
#pragma once

#include <vector>

#include "frontend/nn/activation.h"
#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

struct RecurrentOptions {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;  ///< of the gates; SimpleRNN has none
  bool return_sequences = false;                          ///< the outputs of all steps, [N, T, units], instead of the last one
  bool return_state = false;                              ///< the last states too, [N, units] each: further outputs of call_all()
  bool reverse = false;                                   ///< from the last step to the first; outputs stay at the places of their steps
  double dropout = 0;                                     ///< of the inputs, in training: one mask for each sample, the same for all steps
  double recurrent_dropout = 0;                           ///< the same of what the recurrent weight multiplies
  Initializer weight = init::glorot_uniform();
  Initializer recurrent_weight = init::orthogonal();
  Initializer bias = init::zeros();
  bool use_bias = true;
  Penalty penalty = {};            ///< of the weight
  Penalty recurrent_penalty = {};  ///< of the recurrent weight
  bool reset_after = true;         ///< of GRU: r multiplies h U instead of h, as in cuDNN, PyTorch and Keras; then there is a bias of h U too
  bool unit_forget_bias = true;    ///< of LSTM: the bias of the forget gate begins as 1 (Jozefowicz et al. 2015)
};

/// Base of SimpleRNN, GRU and LSTM. Input [N, T, inputs]; parameters `weight` [inputs, gates · units], `recurrent_weight` [units, gates · units] and
/// `bias` [gates · units]. At steps that the input's mask leaves out (frontend/nn/mask.h) states stay as they are, and the output is that of the step
/// before; outputs of all steps have the mask of the input.
class Recurrent : public Module {
 public:
  /// [N, units], or [N, T, units] with return_sequences. Begins with states of 0. Throws UserError if x is not [N, T, inputs].
  Tensor forward(const Tensor& x) override;
  /// x, then the states to begin with, [N, units] each, or none. Returns the output and, with return_state, the last states.
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override;
  /// One step on its own, x [N, inputs]: the next states, the first of which is the output. Without dropout.
  std::vector<Tensor> step(const Tensor& x, std::span<const Tensor> states);
  /// A layer of the same kind and options with parameters of its own, which runs in the other direction.
  virtual std::shared_ptr<Recurrent> reversed() const = 0;
  std::size_t state_count() const { return states_; }
  std::int64_t inputs() const { return inputs_; }
  std::int64_t units() const { return units_; }
  const RecurrentOptions& options() const { return options_; }
  std::vector<Setting> settings() const override;

  Parameter weight, recurrent_weight, bias;  ///< bias is undefined without use_bias

 protected:
  /// `states`: how many a step keeps; `gates`: how many values of `units` columns it computes. Throws UserError for sizes below 1 and for rates.
  /// `initial_bias`: of [gates · units].
  Recurrent(std::string kind, std::int64_t inputs, std::int64_t units, std::size_t states, std::int64_t gates, const RecurrentOptions& options,
            const Initializer& initial_bias);
  /// The next states from a step's input times the weight, with the bias, [N, gates · units]. `recurrent`: the first state as the recurrent weight
  /// multiplies it, with dropout.
  virtual std::vector<Tensor> next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) = 0;
  /// Part number `gate` of [N, gates · units].
  Tensor gate(const Tensor& all, std::int64_t gate) const;

 private:
  void check(const Tensor& x, std::size_t rank) const;

  std::int64_t inputs_, units_;
  std::size_t states_;
  RecurrentOptions options_;
  std::uint64_t stream_ = 0, recurrent_stream_ = 0;
  Parameter draws_;
};

/// h ← activation(x W + h U + b).
class SimpleRNN : public Recurrent {
 public:
  explicit SimpleRNN(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options = {});
  std::shared_ptr<Recurrent> reversed() const override;

 protected:
  std::vector<Tensor> next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) override;
};

/// Gated recurrent unit (Cho et al. 2014), gates in the order z, r, h of Keras: h ← z h + (1 − z) activation(x Wh + bh + r (h Uh + ch)), where
/// z and r are recurrent_activation(x W + b + h U + c). Without reset_after, r (h Uh + ch) is (r h) Uh.
class GRU : public Recurrent {
 public:
  explicit GRU(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options = {});
  std::shared_ptr<Recurrent> reversed() const override;
  std::vector<Setting> settings() const override;

  Parameter recurrent_bias;  ///< c [3 · units]: undefined without use_bias or reset_after

 protected:
  std::vector<Tensor> next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) override;
};

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), gates in the order i, f, c, o of Keras:
/// c ← f c + i activation(x Wc + h Uc + bc), h ← o activation(c), where i, f and o are recurrent_activation(x W + h U + b). States h, c.
class LSTM : public Recurrent {
 public:
  explicit LSTM(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options = {});
  std::shared_ptr<Recurrent> reversed() const override;
  std::vector<Setting> settings() const override;

 protected:
  std::vector<Tensor> next(const Tensor& projected, const Tensor& recurrent, std::span<const Tensor> states) override;
};

/// How the outputs of both directions become one.
enum class Merge { concat, sum, mean, product };

/// Two recurrent layers over the same sequences, forwards and backwards (Schuster and Paliwal 1997); their outputs are merged.
///
///   nn::Bidirectional both{nn::LSTM(30, 512, {.return_sequences = true})};  // [N, T, 30] becomes [N, T, 1024]
class Bidirectional : public Module {
 public:
  /// The layer, which runs forwards, and a reversed() one.
  template <std::derived_from<Recurrent> Layer>
  explicit Bidirectional(const Layer& layer, Merge merge = Merge::concat)
      : Bidirectional(std::static_pointer_cast<Recurrent>(share(layer)), layer.reversed(), merge) {}
  /// Throws UserError unless the first layer runs forwards and the second backwards, for different options return_sequences or return_state, and,
  /// unless they are concatenated, for different numbers of units.
  Bidirectional(std::shared_ptr<Recurrent> forward, std::shared_ptr<Recurrent> backward, Merge merge = Merge::concat);

  Tensor forward(const Tensor& x) override;
  /// x, then the states to begin with of the first layer and of the second, or none. Returns the merged output and, with return_state, the last
  /// states of the first layer and of the second.
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override;
  std::vector<Setting> settings() const override;

 private:
  std::shared_ptr<Recurrent> forward_, backward_;
  Merge merge_;
};

}  // namespace sinter::nn
