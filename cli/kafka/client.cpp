#include "cli/kafka/client.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace sinter::cli::kafka {

namespace {

/// What the command sets itself, and the option that says how; none if there is no choice.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> own{{{"bootstrap.servers", "--brokers"},
                                                                             {"metadata.broker.list", "--brokers"},
                                                                             {"group.id", "--group"},
                                                                             {"auto.offset.reset", "--offset-reset"},
                                                                             {"transactional.id", "--transactional-id"},
                                                                             {"enable.auto.commit", "--delivery"},
                                                                             {"enable.auto.offset.store", "--delivery"},
                                                                             {"auto.commit.enable", "--delivery"},
                                                                             {"enable.partition.eof", ""},
                                                                             {"allow.auto.create.topics", ""}}};

/// The names of all properties, from the table that librdkafka has for people.
std::vector<std::string> known_properties() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const page = ::open_memstream(&text, &size);
  if (!page) return {};
  rd_kafka_conf_properties_show(page);
  std::fclose(page);
  const std::unique_ptr<char, FreedBy<std::free>> owner(text);
  std::vector<std::string> names;
  for (std::string_view rest(text, size); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n')), name = line.substr(0, line.find(' '));
    if (!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._") == name.npos) names.emplace_back(name);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return names;
}

void set(rd_kafka_conf_t& configuration, const std::string& name, const std::string& value) {
  std::array<char, 512> error{};
  const rd_kafka_conf_res_t result = rd_kafka_conf_set(&configuration, name.c_str(), value.c_str(), error.data(), error.size());
  if (result == RD_KAFKA_CONF_UNKNOWN)
    throw UserError("--property", str("librdkafka has no property '", printable(name), "'", nearest_hint(name, known_properties())));
  if (result != RD_KAFKA_CONF_OK) throw UserError("--property", str("librdkafka refuses '", printable(name), "': ", printable(error.data())));
}

}  // namespace

bool is_final(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      return true;
    default:
      return false;
  }
}

int Deadline::milliseconds(int most) const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
}

void check_properties(const Properties& properties) {
  const Configuration probe(rd_kafka_conf_new());
  for (const auto& [name, value] : properties) {
    const auto* const found = std::find_if(own.begin(), own.end(), [&](const auto& mine) { return mine.first == name; });
    if (found != own.end())
      throw UserError("--property", str("'", name, "' is not for --property: ",
                                        found->second.empty() ? "sinter consume needs it as it is" : str("it follows from ", found->second)));
    set(*probe, name, value);
  }
}

Configuration configuration(const ClientOptions& options, const Properties& defaults, const Properties& more) {
  Configuration result(rd_kafka_conf_new());
  set(*result, "client.id", "sinter");
  for (const Properties& properties : {defaults, options.properties, more})
    for (const auto& [name, value] : properties) set(*result, name, value);
  set(*result, "bootstrap.servers", options.brokers);
  return result;
}

Client::Client(ClientOptions options, rd_kafka_type_t type, Configuration configuration) : options_(std::move(options)) {
  rd_kafka_conf_set_opaque(configuration.get(), this);
  rd_kafka_conf_set_error_cb(configuration.get(), &Client::on_error);
  rd_kafka_conf_set_log_cb(configuration.get(), &Client::on_log);
  std::array<char, 512> error{};
  handle_ = rd_kafka_new(type, configuration.get(), error.data(), error.size());
  if (!handle_) throw UserError("--property", str("librdkafka refuses its settings: ", printable(error.data())));
  (void)configuration.release();  // the handle has it now
}

Client::~Client() {
  if (handle_) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);  // who wants to leave a group has closed before
}

void Client::require_admitted() const {
  if (!refusal_.empty()) throw UserError("--brokers", str("the brokers refuse us: ", refusal_, "; check the security settings of --property"));
}

void Client::require_broker() {
  if (!lost_.patience || !lost_.patience->is_over()) return;
  const rd_kafka_metadata_t* metadata = nullptr;  // nobody says that a broker is back
  if (rd_kafka_metadata(handle_, 0, nullptr, &metadata, 1000) != RD_KAFKA_RESP_ERR_NO_ERROR) fail_unanswered();
  rd_kafka_metadata_destroy(metadata);
  is_answered();
}

void Client::fail_unanswered() const {
  throw UserError("--brokers", str("no answer from ", printable(options_.brokers), " for ", options_.timeout, " s", reason_.empty() ? "" : ": ",
                                   reason_, "; check the address and that the brokers run, or raise --timeout"));
}

void Client::on_error(rd_kafka_t*, int code, const char* reason, void* client) {
  Client& self = *static_cast<Client*>(client);
  if (code == RD_KAFKA_RESP_ERR__FATAL) return;  // whoever calls a function of the handle is told
  if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL) self.refusal_ = printable(reason);
  if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) self.reason_ = printable(reason);
  else if (!self.lost_.patience) self.lost_.patience = std::make_unique<Deadline>(self.options_.timeout);
  self.tell(printable(reason));
}

void Client::tell(const std::string& reason) {
  if (options_.warn && !std::exchange(lost_.is_told, true)) options_.warn(str("[kafka] ", reason, "; trying again"));
}

void Client::on_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
  constexpr int debugging = 7;  // what --property debug=... asks for; of errors on_error is told, too
  if (level >= debugging) std::cerr << str("librdkafka: ", facility, ": ", printable(text), "\n");
}

}  // namespace sinter::cli::kafka
