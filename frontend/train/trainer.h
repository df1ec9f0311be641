// Trainer: model, loss and optimizer as three compiled steps (train, evaluate, predict) and the loops around them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/checkpoint/options.h"
#include "frontend/compile/step.h"
#include "frontend/data/vocabulary.h"
#include "frontend/nn/container.h"
#include "frontend/nn/loss.h"
#include "frontend/optim/optimizer.h"
#include "frontend/optim/schedule.h"
#include "frontend/train/callback.h"
#include "frontend/train/dataset.h"
#include "frontend/train/generator.h"
#include "frontend/train/metric.h"
#include "frontend/train/profile.h"

namespace sinter {

struct TrainerOptions {
  Mode mode = Mode::graph;
  int threads = 0;                                   ///< 0: as OMP_NUM_THREADS, affinity and cgroup quota allow
  bool force = false;                                ///< exactly `threads`, for tests
  std::function<Tensor()> regularizer = {};          ///< added to the training loss, e.g. [&] { return loss::l2(1e-5f, {...}); }
  std::vector<metric::Pointer> metrics = {};         ///< computed while training, in evaluate and on validation data; all samples count alike
  std::function<void(const std::string&)> log = {};  ///< receives warnings
  /// Metrics in which samples count by their weights, those of FitOptions::class_weights included, as in Keras. Their names begin with weighted_.
  std::vector<metric::Pointer> weighted_metrics = {};
  /// Training and evaluation steps take exactly so many samples each: N is a number for the loss, which may compare the samples of a batch with each
  /// other, [fixed_batch, fixed_batch] (in-batch negatives). FitOptions::batch_size must be it; the samples of an epoch, of a piece and of evaluate()
  /// that fill no batch are left out. 0: batches of any size.
  std::int64_t fixed_batch = 0;
  std::vector<std::string> without = {};  ///< passes that are switched off: StepOptions::without of all its steps
};

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;
  std::vector<std::pair<std::string, double>> metrics = {};
  /// Samples with a NaN among their predictions, which are wrong by accuracy and every metric. Where there are no metrics, they are sought among the
  /// samples whose loss is not finite.
  std::int64_t nan_samples = 0;
};

/// Values of one set of data.
struct ValuesOfSet {
  std::string set;                                     ///< training, validation, the name of one of FitOptions::validations, or training set
  std::string prefix;                                  ///< of their names in EpochResult::values(): "", val_, val_test_, train_
  std::vector<std::pair<std::string, double>> values;  ///< without it: loss, accuracy, the metrics
};

struct EpochResult {
  std::int64_t epoch = 0;          ///< from 1, counted over all calls of fit
  double loss = 0;                 ///< mean over the epoch's samples, during training
  std::optional<double> accuracy;  ///< where the targets are class numbers; all samples count alike
  std::optional<double> validation_loss, validation_accuracy;
  double learning_rate = 0;  ///< of the last step
  double seconds = 0;        ///< training alone
  std::vector<std::pair<std::string, double>> metrics = {}, validation_metrics = {};
  std::vector<std::pair<std::string, Evaluation>> validations = {};  ///< of each of FitOptions::validations
  std::optional<Evaluation> training_set = {};                       ///< after the epoch, with FitOptions::evaluate_training

  /// The values of the epoch's training, and of each set that was evaluated after it.
  std::vector<ValuesOfSet> sets() const;
  /// All of them by name, each name once: loss, accuracy and the metrics; with val_ before their names those of validation, with val_test_ those of
  /// the validation set test, with train_ those of the training set after the epoch; learning_rate and seconds.
  std::vector<std::pair<std::string, double>> values() const;
  /// One of them. Throws UserError for an unknown name, listing the known ones.
  double value(const std::string& name) const;
};

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size = 32;  ///< the last batch of an epoch may be smaller; that needs no second compile
  /// Buckets by length: so many batches at a time, as shuffled, are sorted by the lengths of their sequences and taken in any order, so that each
  /// batch is of alike lengths. 0: none. Kernels skip padding, so that this saves memory above all.
  std::int64_t bucket_batches = 0;
  /// Length of an epoch in steps; 0: all of the data. Epochs that are shorter than the data in memory go on where the last one stopped, also in the
  /// next call of fit; each pass over the data has its own order. A Generator is asked for piece 0 of each epoch.
  std::int64_t steps_per_epoch = 0;
  std::size_t prefetch = 2;  ///< pieces that a Generator makes ahead on a background thread; 0: none
  std::optional<Dataset> validation = {};
  /// More sets to judge after each epoch, by name: {{"test", test}, {"dirty", dirty}} gives val_test_loss, val_dirty_accuracy, ….
  std::vector<std::pair<std::string, Dataset>> validations = {};
  /// Judge the training set after each epoch too, as a validation set: train_loss, train_accuracy. (loss and accuracy are means over the epoch,
  /// while the model still changed.) Needs data in memory.
  bool evaluate_training = false;
  double validation_split = 0;  ///< in [0, 1): hold out this share of the data, taken from its end, for validation
  /// Factors of the loss, one per class, besides the data's own weights; see data::balanced_class_weights. Validation is not weighted by them.
  std::vector<double> class_weights = {};
  bool shuffle = true;
  /// So many pieces of a Generator are shuffled together, as one piece. If its pieces are in an order, by class say, give as many as have all
  /// classes. Takes the memory of that many pieces for each of those that `prefetch` makes ahead, and for the one that is trained on.
  std::int64_t shuffle_buffer = 1;
  std::uint64_t seed = 0;  ///< of the shuffles; the order of a pass over the data depends only on seed and number of the pass
  bool verbose = true;
  Schedule schedule = {};  ///< learning rate of each step, counted from 0 in this call of fit
  std::function<void(const EpochResult&)> on_epoch = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  /// An interrupt (Ctrl-C) ends fit after the running step, as stop() does. The previous handler is restored.
  bool stop_on_interrupt = false;
  /// Check every step for NaN and infinite numbers. At the first, parameters and optimizer return to their values before the step, and fit throws
  /// a UserError that names layer, line and op. Costs a copy of all states per step.
  bool find_non_finite = false;
  /// Checkpoints from which a killed run resumes. fit returns the results of all epochs, including those before.
  CheckpointOptions checkpoint = {};
};

class Trainer {
 public:
  /// Keeps a copy of the model, which shares its parameters, or the pointer to it; and the optimizer. A model passed as a plain nn::Module& cannot be
  /// copied and must outlive the trainer.
  template <nn::IsLayer Model, class Optimizer>
  Trainer(Model&& model, Losses losses, Optimizer&& optimizer, TrainerOptions options = {})
      : Trainer(own(std::forward<Model>(model)), std::move(losses), own(std::forward<Optimizer>(optimizer)), std::move(options)) {}
  /// Throws UserError if one of them is null.
  Trainer(std::shared_ptr<nn::Module> model, Losses losses, std::shared_ptr<optim::Optimizer> optimizer, TrainerOptions options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// Trains for some epochs, or until stop(). Throws UserError for an empty data set, one with NaN or infinite numbers, batch_size or epochs below 1,
  /// and labels out of range.
  std::vector<EpochResult> fit(const Dataset& train, const FitOptions& options);
  /// The same on data that is made piece by piece. Shuffles within pieces. A schedule needs steps_per_epoch; what the generator throws, fit throws.
  std::vector<EpochResult> fit(const Generator& train, const FitOptions& options);
  /// Ends fit after the running step: for callbacks.
  void stop();
  Evaluation evaluate(const Dataset& data);
  /// The output of a single-output model, for x [N, ...], computed from `batch_size` samples at a time, or from all if an output has no row for each.
  /// Of sequences, in blocks of alike lengths; what is said of each step, [N, T, ...], is 0 after the end of a sequence. Throws UserError for other
  /// element types than those of the data seen first (u8 features are scaled, floats are not) and a batch_size below 1.
  Tensor predict(const Columns& x, std::int64_t batch_size = 1024);
  /// All outputs.
  std::vector<Tensor> predict_all(const Columns& x, std::int64_t batch_size = 1024);
  /// predict() for texts as they are, whose words become numbers by the vocabulary. Throws UserError without one, for a model that takes anything but
  /// sequences of i32, for a vocabulary of another model, and for a text that is not UTF-8.
  Tensor predict_texts(const std::vector<std::string>& texts);
  Tensor predict_text(const std::string& text);
  /// One sample, dense row-major, as the model sees it (u8 features as numbers times their scale); allocates nothing after the first call.
  void predict_one(std::span<const float> in, std::span<float> out);
  /// One step on this batch; its loss before the step.
  double train_on_batch(const Columns& x, const Columns& y);

  /// May be called at any time; training continues from the same state.
  void set_mode(Mode mode);
  void set_learning_rate(float rate);
  float learning_rate() const;

  /// Graphs, weights, optimizer state and counters to a file from which another program can predict and resume training. Throws UserError before the
  /// first call of fit, train_on_batch, evaluate or predict, when the shapes are not known yet, and if the file cannot be written.
  void save(const std::string& path);
  /// Texts that save() adds to the file, for the program that loads it: an Encoder, class names, a date.
  void set_metadata(const std::string& key, std::string value);
  /// Throws UserError for an unknown key.
  const std::string& metadata(const std::string& key) const;
  bool has_metadata(const std::string& key) const;
  /// The words of the texts that the model is trained on, for predict_text: the metadata "vocabulary".
  void set_vocabulary(const data::Vocabulary& vocabulary);
  /// Throws UserError if there is none, or if it is damaged.
  const data::Vocabulary& vocabulary() const;
  /// Loads what save() wrote, without the C++ that defined the model. Throws UserError for a damaged file.
  static Trainer load(const std::string& path, TrainerOptions options = {});

  /// Swaps parameters and their moving averages; see optim::Optimizer::exchange_averages. Batch normalization then needs statistics of the averages:
  /// call recompute_statistics (evaluate, predict and save warn otherwise); those of the parameters come back with these. Throws UserError for a
  /// loaded trainer.
  void exchange_averages();
  /// Sets the running statistics of batch normalization to their means over the batches of this data, as the present parameters give them. Layers
  /// that are frozen keep theirs. Throws UserError for a loaded trainer.
  void recompute_statistics(const Dataset& data, std::int64_t batch_size = 128);
  /// Makes the model's present parameters visible to clones of steps (predict_step().clone(), say), all together; see sinter::publish. Call it from a
  /// callback of fit, or between calls.
  void publish() const;
  /// All states: parameters, then optimizer state.
  std::vector<Parameter> parameters() const;
  /// Freezes the parameters whose names match (`*` is any text: "encoder_1.*"), or unfreezes them. What is frozen when the trainer is saved
  /// stays so in the file. Throws UserError if none matches, and for a loaded trainer if a layer with statistics (batch normalization) would be
  /// frozen, which must be done before saving.
  void set_trainable(const std::string& pattern, bool trainable);
  /// The training step, for explain() and verify(); its inputs are the tables of x and of y, row numbers, for each of them that is of sequences the
  /// rows of the steps and which exist, both [N, T], and, once samples have been weighted, their weights.
  StepCore& train_step();
  StepCore& predict_step();
  /// The model's forward pass on f32 samples, u8 features as numbers times their scale, as predict_one runs it: for serve::Scorer. Throws UserError
  /// before any data.
  Traced recorded_predictions() const;
  /// explain() of the training step.
  std::string explain();
  /// Module::summary for the data seen first; for a loaded trainer the layers that compute its predictions. With details, the settings of losses and
  /// optimizer follow, which a file does not have. Throws UserError before any data.
  std::string summary(nn::SummaryOptions options = {});
  /// Times the training step eagerly and compiled on the first `batch_size` samples, node by node. State is restored.
  TimeReport time(const Dataset& data, std::int64_t batch_size, int repeats = 20);
  /// Trains as fit does, without callbacks, validation and checkpoints, and tells where the time went. State is restored, except for
  /// metrics, which begin anew: not for the middle of an epoch. Throws UserError as fit does.
  ProfileReport profile(const Dataset& data, const ProfileOptions& options = {});
  ProfileReport profile(const Generator& data, const ProfileOptions& options = {});
  std::int64_t epoch() const;
  /// Whether this value of an epoch is better if smaller or greater; automatic for a name that no value has. Throws UserError, listing the values
  /// whose mode is known, for one whose is not: a metric of your own tells it to its base class.
  MonitorMode monitor_mode(const std::string& name) const;

  struct Impl;

 private:
  explicit Trainer(std::unique_ptr<Impl> impl);
  template <class Model>
  static std::shared_ptr<nn::Module> own(Model&& model) {
    if constexpr (std::is_same_v<Model, nn::Module&>) return {std::shared_ptr<void>(), &model};
    else if constexpr (std::derived_from<std::decay_t<Model>, nn::Module>) return nn::share(std::forward<Model>(model));
    else return std::forward<Model>(model);
  }
  template <class Optimizer>
    requires(std::derived_from<std::decay_t<Optimizer>, optim::Optimizer>)
  static std::shared_ptr<optim::Optimizer> own(Optimizer&& optimizer) {
    return std::make_shared<std::decay_t<Optimizer>>(std::forward<Optimizer>(optimizer));
  }
  template <class Optimizer>
    requires(std::convertible_to<Optimizer, std::shared_ptr<optim::Optimizer>>)
  static std::shared_ptr<optim::Optimizer> own(Optimizer&& optimizer) {
    return std::forward<Optimizer>(optimizer);
  }
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter
