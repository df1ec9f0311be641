// Training that goes on while a model serves: labelled records in, new weights out.
#pragma once

#include <sinter/sinter.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/model_folder.h"

namespace sinter::cli {

struct OnlineTrainingSettings {
  std::string labels = {};                   ///< the field of a record with its target; empty: the column that the model was trained to predict
  serve::RecordFormat format = {};           ///< with the names of all fields, if records are not objects
  std::int64_t batch_size = 32;              ///< labelled records of a step
  std::int64_t publish_every = 100;          ///< steps
  std::optional<double> learning_rate = {};  ///< that of the model file, if none is given
};

/// Trains a copy of the model that a scorer serves, and gives it the new weights now and then. A record that has no label is not learnt from.
class OnlineTraining {
 public:
  /// `path` is the scorer's model. Throws UserError for a model without encoder or target, or one whose targets are not of the kind that records
  /// hold.
  OnlineTraining(const std::string& path, serve::Scorer& scorer, ModelFolder& folder, const OnlineTrainingSettings& settings);
  ~OnlineTraining();
  OnlineTraining(const OnlineTraining&) = delete;
  OnlineTraining& operator=(const OnlineTraining&) = delete;

  /// Learns from a record, once as many as a step takes have come.
  void add(std::string_view record);
  /// Whether publish_every steps have been done since the last publish().
  bool is_due() const { return steps_ >= settings_.publish_every; }
  /// Labelled records until then, at least 1.
  std::size_t room() const;
  /// Learns from what has come. If there were steps since the last time, writes the model to the folder and lets the scorer use it. Throws UserError
  /// for a model that is no longer finite, which is not written.
  void publish();
  /// Forgets what has come since the last step: it will come again.
  void forget();

  std::int64_t labelled() const { return labelled_; }  ///< records that were learnt from
  std::int64_t bad_labels() const { return bad_labels_; }
  std::int64_t steps() const { return folder_.steps() + steps_; }

 private:
  enum class Target : std::uint8_t { classes, numbers, one_hot };
  void name_columns();
  void read_target_type();
  /// Keeps a record's target; false if it is not to be learnt from.
  bool take_target(std::span<const data::Field> fields);
  void step();
  void require_finite();

  OnlineTrainingSettings settings_;
  Trainer trainer_;
  serve::Scorer& scorer_;
  ModelFolder& folder_;
  data::Encoder encoder_;
  std::size_t label_ = 0;  ///< which of a record's columns is its label
  std::optional<data::RecordEncoder> records_;
  std::unique_ptr<serve::RecordReader> reader_;
  Target target_ = Target::numbers;
  std::size_t width_ = 0, target_width_ = 1;
  std::vector<float> features_, numbers_;  ///< of the records of the next step, row by row
  std::vector<std::int32_t> classes_;
  std::size_t rows_ = 0;
  std::int64_t steps_ = 0, labelled_ = 0, bad_labels_ = 0;
};

}  // namespace sinter::cli
