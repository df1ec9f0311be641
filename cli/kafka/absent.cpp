// What stands in for Kafka in a build without librdkafka: `sinter consume` asks is_built() first.
#include "cli/kafka/consumption.h"

namespace sinter::cli {

bool kafka::is_built() { return false; }
void kafka::check_properties(const Properties&) { throw InternalError("consume", "there are no properties without librdkafka"); }
void consume(const StreamSignals&, serve::Scorer&, OnlineTraining*, ConsumptionSettings) { throw InternalError("consume", "there is no Kafka"); }

}  // namespace sinter::cli
