#include "tests/kafka/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace sinter::test {

namespace {

/// Numbers and texts of Kafka's protocol, one after another.
class Reader {
 public:
  Reader(const std::string& bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  template <class Int>
  Int number() {
    const std::string_view part = take(sizeof(Int));
    std::uint64_t value = 0;
    for (const char c : part) value = value << 8 | static_cast<unsigned char>(c);
    return static_cast<Int>(value);
  }
  std::string text() {
    const auto size = number<std::int16_t>();
    return std::string(take(size < 0 ? 0 : static_cast<std::size_t>(size)));
  }
  std::string bytes() {
    const auto size = number<std::int32_t>();
    return std::string(take(size < 0 ? 0 : static_cast<std::size_t>(size)));
  }
  void skip(std::size_t count) { take(count); }
  /// Calls `work` once for each entry of an array.
  template <class Work>
  void each(const Work& work) {
    for (auto count = number<std::int32_t>(); count > 0; --count) work();
  }
  std::size_t at() const { return at_; }

 private:
  std::string_view take(std::size_t count) {
    if (bytes_.size() - at_ < count) throw std::runtime_error("a frame ends too early");
    at_ += count;
    return std::string_view(bytes_).substr(at_ - count, count);
  }

  const std::string& bytes_;
  std::size_t at_;
};

template <class Int>
std::string big_endian(Int number) {
  std::string result(sizeof(Int), '\0');
  for (std::size_t i = 0; i < sizeof(Int); ++i) result[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * (sizeof(Int) - 1 - i)));
  return result;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int require(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Appends what has come; false at the end.
bool read_some(int descriptor, std::string& to) {
  std::array<char, 1 << 16> block;
  const ssize_t count = ::recv(descriptor, block.data(), block.size(), 0);
  if (count > 0) to.append(block.data(), static_cast<std::size_t>(count));
  return count > 0;
}

/// Takes a frame with the four bytes of its size from the front, if it is whole.
std::optional<std::string> take_frame(std::string& bytes) {
  constexpr std::size_t head = 4;
  if (bytes.size() < head) return std::nullopt;
  const auto size = head + Reader(bytes, 0).number<std::uint32_t>();
  if (size > (1u << 28)) throw std::runtime_error("no frame of Kafka's protocol");
  if (bytes.size() < size) return std::nullopt;
  std::string frame = bytes.substr(0, size);
  bytes.erase(0, size);
  return frame;
}

}  // namespace

Relay::Relay(const std::vector<std::uint16_t>& ports) : ports_(ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const int listener = require(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    require(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), "bind");
    require(::listen(listener, SOMAXCONN), "listen");
    require(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    own_ports_.push_back(ntohs(address.sin_port));
    listeners_.push_back(listener);
  }
  require(::pipe2(wake_, O_CLOEXEC), "pipe2");
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  ::close(wake_[1]);
  thread_.join();
  ::close(wake_[0]);
  for (const int listener : listeners_) ::close(listener);
  for (const auto& connection : connections_) ::close(connection->client), ::close(connection->server);
}

std::string Relay::brokers() const {
  std::string result;
  for (const std::uint16_t port : own_ports_) result += (result.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  return result;
}

void Relay::before(Api api, int number, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  traps_.push_back({api, counts_[api] + number, false, std::move(action)});
}

void Relay::after(Api api, int number, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  traps_.push_back({api, counts_[api] + number, true, std::move(action)});
}

int Relay::count(Api api) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(api);
  return found == counts_.end() ? 0 : found->second;
}

bool Relay::is_visible(const std::string& topic, std::int32_t partition, std::int64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto place = fetched_.find({topic, partition});
  if (place == fetched_.end()) return true;
  auto found = place->second.upper_bound(offset);
  if (found == place->second.begin()) return true;
  --found;
  return offset >= found->second.end || committed_.contains(found->second.batch);
}

void Relay::run() {
  for (;;) {
    std::vector<pollfd> waiting{{wake_[0], POLLIN, 0}};
    for (const int listener : listeners_) waiting.push_back({listener, POLLIN, 0});
    for (const auto& connection : connections_) {
      waiting.push_back({connection->client, POLLIN, 0});
      waiting.push_back({connection->server, POLLIN, 0});
    }
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents) return;
    const std::size_t first = 1 + listeners_.size(), known = connections_.size();
    for (std::size_t i = 0; i < listeners_.size(); ++i)
      if (waiting[1 + i].revents) accept(i);
    for (std::size_t i = known; i-- > 0;)
      if (!move(*connections_[i], waiting[first + 2 * i].revents != 0, waiting[first + 2 * i + 1].revents != 0)) {
        ::close(connections_[i]->client);
        ::close(connections_[i]->server);
        connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
      }
  }
}

void Relay::accept(std::size_t broker) {
  auto connection = std::make_unique<Connection>();
  connection->client = ::accept4(listeners_[broker], nullptr, nullptr, SOCK_CLOEXEC);
  connection->server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(ports_[broker]);
  if (connection->client >= 0 && ::connect(connection->server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    connections_.push_back(std::move(connection));
    return;
  }
  ::close(connection->client);
  ::close(connection->server);
}

bool Relay::move(Connection& connection, bool has_client_sent, bool has_server_sent) try {
  if (has_client_sent) {
    if (!read_some(connection.client, connection.from_client)) {  // what it has asked for is still done
      ::close(connection.client);
      connection.client = -1;
    }
    while (const auto frame = take_frame(connection.from_client))
      if (!take_request(connection, *frame)) return false;
  }
  if (has_server_sent) {
    if (!read_some(connection.server, connection.from_server)) return false;
    while (const auto frame = take_frame(connection.from_server))
      if (!take_answer(connection, *frame)) return false;
  }
  return connection.client >= 0 || !connection.waiting.empty();
} catch (const std::runtime_error&) {  // not Kafka's protocol: the start of TLS
  return false;
}

bool Relay::take_request(Connection& connection, const std::string& frame) {
  Reader reader(frame, 4);
  Request request{.api = reader.number<std::int16_t>(), .version = reader.number<std::int16_t>()};
  const auto number = reader.number<std::int32_t>();
  const auto api = static_cast<Api>(request.api);
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    const int count = ++counts_[api];
    for (Trap& trap : traps_)
      if (trap.api == api && trap.number == count) (trap.is_after ? request.action : action) = std::exchange(trap.action, nullptr);
    if (!action) read_request(request, frame, reader.at());
  }
  if (action) {
    action();
    return false;
  }
  connection.waiting[number] = std::move(request);
  return write_all(connection.server, frame);
}

void Relay::read_request(Request& request, const std::string& frame, std::size_t at) {
  Reader reader(frame, at);
  (void)reader.text();  // the client's name
  switch (static_cast<Api>(request.api)) {
    case Api::produce:
      (void)reader.text();  // of the transaction
      reader.skip(6);
      reader.each([&] {
        const std::string topic = reader.text();
        reader.each([&] {
          const auto partition = reader.number<std::int32_t>();
          const std::string records = reader.bytes();
          Reader batch(records, 43);
          const auto producer = batch.number<std::int64_t>();
          const auto epoch = batch.number<std::int16_t>();
          open_[{producer, epoch}].batches.insert({topic, partition, producer, epoch, batch.number<std::int32_t>()});
        });
      });
      break;
    case Api::txn_offset_commit: {
      (void)reader.text();
      const std::string group = reader.text();
      const auto id = reader.number<std::int64_t>();
      auto& positions = open_[{id, reader.number<std::int16_t>()}].positions;
      reader.each([&] {
        const std::string topic = reader.text();
        reader.each([&] {
          const auto partition = reader.number<std::int32_t>();
          positions[{group, topic, partition}] = reader.number<std::int64_t>();
          if (request.version >= 2) reader.skip(4);
          (void)reader.text();
        });
      });
      break;
    }
    case Api::end_txn: {
      (void)reader.text();
      const auto id = reader.number<std::int64_t>();
      request.producer = {id, reader.number<std::int16_t>()};
      request.commits = reader.number<std::int8_t>() != 0;
      break;
    }
    case Api::offset_fetch:
      request.group = reader.text();
      break;
    default:
      break;
  }
}

bool Relay::take_answer(Connection& connection, std::string frame) {
  const auto found = connection.waiting.find(Reader(frame, 4).number<std::int32_t>());
  if (found == connection.waiting.end()) return false;
  const Request request = std::move(found->second);
  connection.waiting.erase(found);
  {
    const std::lock_guard lock(mutex_);
    read_answer(request, frame);
  }
  if (request.action) {
    request.action();
    return false;
  }
  if (connection.client >= 0 && !write_all(connection.client, frame)) {
    ::close(connection.client);
    connection.client = -1;
  }
  return true;
}

void Relay::read_answer(const Request& request, std::string& frame) {
  Reader reader(frame, 8);
  switch (static_cast<Api>(request.api)) {
    case Api::metadata:
    case Api::find_coordinator:
      exchange_ports(frame);
      break;
    case Api::end_txn: {
      reader.skip(4);
      if (reader.number<std::int16_t>() != 0) break;
      const Transaction ended = std::exchange(open_[request.producer], {});
      if (!request.commits) break;
      committed_.insert(ended.batches.begin(), ended.batches.end());
      for (const auto& [place, position] : ended.positions) positions_[place] = position;
      break;
    }
    case Api::offset_fetch:
      if (request.version >= 3) reader.skip(4);
      reader.each([&] {
        const std::string topic = reader.text();
        reader.each([&] {
          const auto partition = reader.number<std::int32_t>();
          const auto known = positions_.find({request.group, topic, partition});
          if (known != positions_.end()) frame.replace(reader.at(), 8, big_endian(known->second));
          reader.skip(request.version >= 5 ? 12 : 8);
          (void)reader.text();
          reader.skip(2);
        });
      });
      break;
    case Api::fetch:
      reader.skip(request.version >= 7 ? 10 : request.version >= 1 ? 4 : 0);
      reader.each([&] {
        const std::string topic = reader.text();
        reader.each([&] {
          const auto partition = reader.number<std::int32_t>();
          reader.skip(10);
          if (request.version >= 4) reader.skip(8);
          if (request.version >= 5) reader.skip(8);
          if (request.version >= 4) reader.each([&] { reader.skip(16); });
          if (request.version >= 11) reader.skip(4);
          read_records(topic, partition, reader.bytes());
        });
      });
      break;
    default:
      break;
  }
}

void Relay::read_records(const std::string& topic, std::int32_t partition, const std::string& records) {
  constexpr std::int16_t transactional = 0x10;
  constexpr std::size_t head = 61;
  for (std::size_t at = 0; at + head <= records.size();) {
    Reader reader(records, at);
    const auto first = reader.number<std::int64_t>();
    const auto size = reader.number<std::int32_t>();
    reader.skip(9);
    const auto attributes = reader.number<std::int16_t>();
    const auto last = reader.number<std::int32_t>();
    reader.skip(16);
    const auto producer = reader.number<std::int64_t>();
    const auto epoch = reader.number<std::int16_t>();
    const auto sequence = reader.number<std::int32_t>();
    if (attributes & transactional) fetched_[{topic, partition}][first] = {first + last + 1, {topic, partition, producer, epoch, sequence}};
    at += 12 + static_cast<std::size_t>(size);
  }
}

void Relay::exchange_ports(std::string& frame) const {
  constexpr std::string_view host = "127.0.0.1";
  for (std::size_t at = 0; (at = frame.find(host, at)) != frame.npos;) {
    at += host.size();
    if (frame.size() < at + 4) return;
    const auto port = Reader(frame, at).number<std::uint32_t>();
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (ports_[i] == port) frame.replace(at, 4, big_endian(static_cast<std::uint32_t>(own_ports_[i])));
  }
}

}  // namespace sinter::test
