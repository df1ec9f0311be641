// Optimizers: a few traced lines each. What changes between steps (learning rate, slots, counters) is a parameter, never a constant.
// w is a parameter, g its gradient, lr the learning rate, t the number of this update from 1.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/core/ops.h"
#include "frontend/core/setting.h"

namespace sinter::optim {

/// Limits on gradients, applied in this order; 0: none.
struct Clip {
  double value = 0;        ///< each element into [-value, value]
  double norm = 0;         ///< each gradient to at most this Euclidean norm
  double global_norm = 0;  ///< all gradients together to at most this Euclidean norm
};
/// `of`: the parameters that they belong to, if known; in a recorded step that is loaded, those that are frozen then do not count in the global norm.
/// Throws UserError for limits that are negative or not finite.
std::vector<Tensor> clip_gradients(std::span<const Tensor> gradients, const Clip& clip, std::span<const Parameter> of = {});

/// Parameters that are trained differently from the rest.
struct Group {
  std::string pattern;                      ///< of their names, where `*` stands for any text: "*.bias", "encoder_1.*"
  double rate = 1;                          ///< factor of the learning rate, also of a scheduled one
  std::optional<double> weight_decay = {};  ///< in place of the optimizer's
  bool frozen = false;                      ///< leave them unchanged
  bool lazy = false;                        ///< as Common::lazy
};
/// A parameter belongs to the first group whose pattern matches its name.
using Groups = std::vector<Group>;

/// Options of all optimizers.
struct Common {
  Clip clip = {};
  int accumulate = 1;        ///< calls per update, with the mean gradient of these
  double average_decay = 0;  ///< in (0, 1): keep an exponential moving average of each parameter; see exchange_averages()
  /// Elements whose gradient is 0 keep their value and their slots: of an embedding's table, only the rows of the batch change. In the other rows
  /// averages do not decay, and neither momentum nor weight decay moves a weight; t counts all updates. (As SparseAdam of PyTorch, LazyAdam of
  /// TensorFlow Addons.)
  bool lazy = false;
  Groups groups = {};  ///< each must match a parameter
};

/// Base of the optimizers. Copies share their state.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Assigns each parameter its next value, except frozen ones. Runs eagerly and in a trace. Throws UserError if the counts or shapes differ,
  /// and for a group that matches none of the parameters.
  void update(std::span<const Parameter> parameters, std::span<const Tensor> gradients);
  void update(std::initializer_list<Parameter> parameters, std::span<const Tensor> gradients) {
    update(std::span(parameters.begin(), parameters.size()), gradients);
  }
  void update(std::initializer_list<Parameter> parameters, std::initializer_list<Tensor> gradients) {
    update(parameters, std::span(gradients.begin(), gradients.size()));
  }

  /// A scalar parameter: assigning it changes the rate from the next step on, without a compile.
  const Parameter& learning_rate() const { return learning_rate_; }
  /// Throws UserError for a rate that is negative or not finite.
  void set_learning_rate(double rate);
  /// Swaps each parameter's value with its moving average: call it before evaluation or saving, and again to continue training. Throws UserError
  /// without average_decay, inside a trace and before the first update.
  void exchange_averages();
  /// Learning rate, counters and slots, for files; also what load_state() was given for slots that do not exist yet. Slots are created by the first
  /// update. Each is named after its parameter, adam/encoder.dense_1.weight/m, the second parameter of one name as dense.weight#2.
  std::vector<Parameter> state() const;
  /// The same without what load_state() was given for slots that do not exist yet.
  std::vector<Parameter> created_state() const;
  /// Assigns what state() returned, by name; slots that do not exist yet start with it. Throws UserError, and assigns nothing, for another type and
  /// for a state that the list lacks.
  void load_state(std::span<const std::pair<std::string, Tensor>> state) const;
  const std::string& name() const { return name_; }
  /// The present learning rate, the optimizer's own options, and those of Common that it was given.
  std::vector<Setting> settings() const;

 protected:
  Optimizer(std::string name, double learning_rate, const Common& common);
  /// Called once per update, before update_one of each parameter.
  virtual void begin() {}
  virtual void update_one(const Parameter& w, const Tensor& g) = 0;
  /// Its own options besides the learning rate, for settings().
  virtual std::vector<Setting> own_settings() const { return {}; }
  /// The slot of this name that belongs to the parameter: `rmsprop/dense_1.weight/v`. Starts filled with `initial`.
  Parameter slot(const Parameter& parameter, const std::string& slot_name, double initial = 0);
  /// A scalar of the optimizer's own: `nadam/momentum_product`.
  Parameter scalar(const std::string& scalar_name, double initial);
  /// A count of the optimizer's own, from 0: u32, because f32 cannot count beyond 2^24.
  Parameter counter(const std::string& counter_name);
  /// t, rounded to an f32 scalar.
  Tensor step_number();
  /// 1 - base^t, exact to rounding: the bias correction of averages that start at 0 (Kingma and Ba 2015).
  Tensor bias_correction(double base);
  /// Assigns a parameter, slot or scalar, unless this call only accumulates; if updates are lazy, a parameter and its slots only where its gradient
  /// is not 0.
  void set(const Parameter& parameter, const Tensor& value);
  /// The learning rate for the parameter that update_one is called for.
  Tensor rate() const;
  /// Its weight decay; `usual` is that of the optimizer.
  double decay(double usual) const;
  /// g + decay(usual) · w.
  Tensor decayed(const Parameter& w, const Tensor& g, double usual) const;
  void require_in_0_1(const char* what, double value) const;
  void require_positive(const char* what, double value) const;
  void require_at_least_0(const char* what, double value) const;

 private:
  struct Slot {
    std::shared_ptr<Cell> owner;  ///< null for a scalar
    std::string name;
    Parameter value;
  };
  Parameter find(const std::shared_ptr<Cell>& owner, const std::string& slot_name, const Type& type, double initial);
  /// Names slots after what their owners are called now.
  void name_slots() const;
  /// The group of each parameter, null for none.
  std::vector<const Group*> groups_of(std::span<const Parameter> parameters) const;
  /// set() of all elements.
  void set_all(const Parameter& parameter, const Tensor& value);
  std::vector<Tensor> accumulated(std::span<const Parameter> parameters, std::span<const Tensor> gradients);
  void average(const Parameter& w);

  std::string name_;
  Common common_;
  Parameter learning_rate_;
  std::shared_ptr<std::vector<Slot>> slots_ = std::make_shared<std::vector<Slot>>();
  Tensor updates_;                ///< while accumulating: whether this call updates
  Tensor changes_;                ///< of the parameter that is being updated, if updates are lazy: which elements change
  Tensor step_;                   ///< t, while an update runs
  const Group* group_ = nullptr;  ///< of the parameter that is being updated
  std::shared_ptr<std::vector<Parameter>> loaded_ = std::make_shared<std::vector<Parameter>>();  ///< for slots that do not exist yet
};

struct SGDOptions {
  double learning_rate = 0.01;
  double momentum = 0;  ///< in [0, 1)
  bool nesterov = false;
  double weight_decay = 0;  ///< g <- g + weight_decay w
  Common common = {};
};
/// w <- w - lr g; with momentum m: v <- m v - lr g, w <- w + v, or w <- w + m v - lr g (Nesterov 1983, in Keras's form).
class SGD : public Optimizer {
 public:
  explicit SGD(SGDOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  SGDOptions options_;
};

struct RMSpropOptions {
  double learning_rate = 1e-3;
  double rho = 0.9;       ///< in [0, 1)
  double epsilon = 1e-7;  ///< > 0
  double momentum = 0;    ///< in [0, 1)
  bool centered = false;  ///< divides by the standard deviation instead of the root mean square
  /// false: sqrt(v + epsilon), and lr in the momentum, as Keras. true: sqrt(v) + epsilon, as PyTorch.
  bool epsilon_outside = false;
  double weight_decay = 0;  ///< g <- g + weight_decay w
  Common common = {};
};
/// v <- rho v + (1 - rho) g², w <- w - lr g / sqrt(v + epsilon) (Tieleman and Hinton 2012); centered: v minus the squared mean gradient (Graves
/// 2013).
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  RMSpropOptions options_;
};

struct AdagradOptions {
  double learning_rate = 0.01;
  double epsilon = 1e-10;
  double initial_sum = 0;
  double weight_decay = 0;  ///< g <- g + weight_decay w
  Common common = {};
};
/// s <- s + g², w <- w - lr g / (sqrt(s) + epsilon) (Duchi et al. 2011).
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  AdagradOptions options_;
};

struct AdadeltaOptions {
  double learning_rate = 1;
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;  ///< g <- g + weight_decay w
  Common common = {};
};
/// v <- rho v + (1 - rho) g², d = g sqrt(u + epsilon) / sqrt(v + epsilon), u <- rho u + (1 - rho) d², w <- w - lr d (Zeiler 2012).
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(AdadeltaOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  AdadeltaOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;  ///< in [0, 1)
  double epsilon = 1e-8;              ///< > 0
  bool amsgrad = false;               ///< divides by the greatest v so far (Reddi et al. 2018)
  double weight_decay = 0;            ///< g <- g + weight_decay w
  Common common = {};
};
/// m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g², w <- w - lr m' / (sqrt(v') + epsilon) with m' = m / (1 - b1^t), v' = v / (1 - b2^t)
/// (Kingma and Ba 2015).
class Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {}) : Adam("adam", false, options) {}

 protected:
  Adam(const char* name, bool decoupled, AdamOptions options);

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  AdamOptions options_;
  bool decoupled_;
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;  ///< in [0, 1)
  double epsilon = 1e-8;              ///< > 0
  bool amsgrad = false;
  double weight_decay = 0.01;  ///< w <- w - lr weight_decay w
  Common common = {};
};
/// Adam with weight decay that does not pass through the averages (Loshchilov and Hutter 2019).
class AdamW : public Adam {
 public:
  explicit AdamW(AdamWOptions o = {}) : Adam("adamw", true, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.amsgrad, o.weight_decay, o.common}) {}
};

struct NAdamOptions {
  double learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 4e-3;
  double weight_decay = 0;  ///< g <- g + weight_decay w
  Common common = {};
};
/// Adam with Nesterov momentum (Dozat 2016), in PyTorch's form: mu_t = b1 (1 - 0.96^(t momentum_decay) / 2).
class NAdam : public Optimizer {
 public:
  explicit NAdam(NAdamOptions options = {});

 private:
  void begin() override;
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  NAdamOptions options_;
  Tensor now_, next_, product_;  ///< mu_t, mu_(t+1) and the product of mu_1 to mu_t
};

struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  Common common = {};
};
/// w <- w - lr (sign(b1 m + (1 - b1) g) + weight_decay w), m <- b2 m + (1 - b2) g (Chen et al. 2023).
class Lion : public Optimizer {
 public:
  explicit Lion(LionOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  std::vector<Setting> own_settings() const override;
  LionOptions options_;
};

}  // namespace sinter::optim
