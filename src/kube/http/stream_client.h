// Watches: streaming responses, each on a connection of its own. Internal to the transport; I/O thread only.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "kube/http/curl_lane.h"
#include "kube/http/curl_transfer.h"
#include "kube/http/io_context.h"
#include "kube/transport.h"

namespace kube {

// The streams whose tasks may still run. Used on the reactor's thread only, shared by the tasks in its queue.
using OpenStreams = std::unordered_set<StreamId>;

class StreamClient {
 public:
  StreamClient(IoContext& context, std::shared_ptr<OpenStreams> open);
  // shutdown() has been called.
  ~StreamClient();

  void open(StreamId id, Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration idle,
            base::MonoTime started);
  // Ends a stream without a word to its receiver.
  void close(StreamId id);
  void credentials_ready();
  // Certificates were replaced: streams on others end as if their connection were lost, so that their watchers come
  // back with the new.
  void close_all_but(const std::shared_ptr<const TlsMaterial>& tls);
  // Ends all streams with `cancelled`.
  void shutdown();

 private:
  struct Stream {
    StreamId id = StreamId::none;
    Request request;
    std::unique_ptr<StreamReceiver> receiver;
    base::Duration idle{};
    base::MonoTime started{};
    base::MonoTime last_data{};
    bool opened = false;
    bool waits_for_credentials = false;
    bool reauthorised = false;
    CredentialPtr credential;
    std::unique_ptr<CurlLane> lane;
    std::unique_ptr<CurlTransfer> transfer;
    std::string refusal;                           // body of a response that is not 2xx
    base::TimerId watchdog = base::TimerId::none;  // response headers, then silence
    base::TimerId cap = base::TimerId::none;       // the server should have ended the watch long ago
  };

  void authorise(Stream& stream);
  void launch(Stream& stream);
  bool take_data(Stream& stream, std::string_view piece);
  void note_opened(Stream& stream);
  void check_silence(Stream& stream);
  void ended(Stream& stream, CURLcode code);
  void finish(Stream& stream, Answer how);
  void fail(Stream& stream, TransportError::Kind kind, std::string message);
  void detach(Stream& stream);
  void post(const Stream& stream, base::Task task, bool last);

  IoContext& context_;
  std::shared_ptr<OpenStreams> open_;
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
};

}  // namespace kube
