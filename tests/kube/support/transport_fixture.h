// What tests of the transport share: a reactor run by the test's thread, recorders, short time-outs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_reactor.h"
#include "kube/client_config.h"
#include "kube/support/certificates.h"
#include "kube/transport.h"
#include "kube/transport_options.h"

namespace kube::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Counts what a transport reports.
class CountingObserver : public RequestObserver {
 public:
  void done(const RequestReport& report) override;
  void retried(std::string_view method, std::string_view host, int code) override;
  void reloaded(std::string_view what, std::string_view result) override;
  void exec_call(int exit_code, std::string_view status) override;
  // "GET 200", "retry GET 429", "ca unchanged", "exec no_error"
  int count(const std::string& what) const;
  std::vector<RequestReport> reports() const;  // texts are not kept

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::vector<RequestReport> reports_;
};

// What a stream has brought so far. Filled in second stages, so read by the test's thread without locks.
struct Recording {
  bool opened = false;
  std::string data;
  int closings = 0;
  std::optional<Answer> closed;
};

class TransportFixture {
 public:
  TransportFixture();
  ~TransportFixture();

  // Makes (or replaces) the transport.
  Transport& connect(ClientConfig config);
  Transport& connect(const std::string& url, const std::string& ca = {});
  Transport& transport() { return *transport_; }
  void disconnect() { transport_.reset(); }
  // Runs the reactor until `condition` holds. False after `limit`.
  bool run_until(const std::function<bool()>& condition, base::Duration limit = seconds(20));
  void run_for(base::Duration time);

  // Sends and waits for the answer.
  Answer call(Request request);
  Answer get(const std::string& path, base::Duration timeout = seconds(5));
  Answer write(const std::string& method, const std::string& path, base::Duration timeout = seconds(5));
  // Sends without waiting; the answer appears in the result.
  std::shared_ptr<std::optional<Answer>> begin(Request request);
  // Opens a watch; `id` receives the stream's.
  std::shared_ptr<Recording> watch(const std::string& path, base::Duration idle = seconds(5),
                                   base::Duration header_timeout = seconds(5), StreamId* id = nullptr);

  base::ThreadReactor reactor;
  TransportOptions options;
  std::shared_ptr<CountingObserver> observer = std::make_shared<CountingObserver>();

 private:
  std::unique_ptr<Transport> transport_;
};

// An authority, a server certificate of it, and nothing else: made once for each process.
struct SharedTls {
  Authority authority{"test authority"};
  KeyPair server = authority.server();
  static const SharedTls& get();
};

}  // namespace kube::test
