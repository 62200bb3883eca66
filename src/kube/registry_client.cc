// rest_client_* and process_*: what is the same for every client and every process.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>

#include "kube/registry_families.h"

namespace kube::metrics {
namespace {

const Buckets& duration_buckets() {
  static const Buckets buckets{0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
  return buckets;
}
const Buckets& size_buckets() {
  static const Buckets buckets{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
  return buckets;
}

std::string code_text(int code) { return code == 0 ? "<error>" : std::to_string(code); }

class ClientMetrics final : public RequestObserver {
 public:
  explicit ClientMetrics(std::shared_ptr<prometheus::Registry> registry) : registry_(std::move(registry)) {}

  void done(const RequestReport& report) override {
    requests_
        .Add({{"code", code_text(report.code)},
              {"method", std::string(report.method)},
              {"host", std::string(report.host)}})
        .Increment();
    const Labels labels{{"verb", std::string(report.method)}, {"host", std::string(report.host)}};
    duration_.Add(labels, duration_buckets()).Observe(in_seconds(report.duration));
    limited_.Add(labels, duration_buckets()).Observe(in_seconds(report.rate_limited));
    request_size_.Add(labels, size_buckets()).Observe(static_cast<double>(report.request_bytes));
    // A stream's size is that of its life, not of an answer.
    if (!report.stream) response_size_.Add(labels, size_buckets()).Observe(static_cast<double>(report.response_bytes));
  }
  void retried(std::string_view method, std::string_view host, int code) override {
    retries_.Add({{"code", code_text(code)}, {"verb", std::string(method)}, {"host", std::string(host)}}).Increment();
  }
  void reloaded(std::string_view what, std::string_view result) override {
    if (what == "ca") ca_reloads_.Add({{"result", std::string(result)}}).Increment();
    reloads_.Add({{"what", std::string(what)}, {"result", std::string(result)}}).Increment();
  }
  void exec_call(int exit_code, std::string_view status) override {
    exec_calls_.Add({{"code", std::to_string(exit_code)}, {"call_status", std::string(status)}}).Increment();
  }

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  Counters& requests_ = counters(*registry_, "rest_client_requests_total",
                                 "Number of HTTP requests, partitioned by status code, method, and host.");
  Histograms& duration_ = histograms(*registry_, "rest_client_request_duration_seconds",
                                     "Request latency in seconds. Broken down by verb, and host.");
  Histograms& limited_ = histograms(*registry_, "rest_client_rate_limiter_duration_seconds",
                                    "Client side rate limiter latency in seconds. Broken down by verb, and host.");
  Histograms& request_size_ =
      histograms(*registry_, "rest_client_request_size_bytes", "Request size in bytes. Broken down by verb and host.");
  Histograms& response_size_ = histograms(*registry_, "rest_client_response_size_bytes",
                                          "Response size in bytes. Broken down by verb and host.");
  Counters& retries_ = counters(*registry_, "rest_client_request_retries_total",
                                "Number of request retries, partitioned by status code, verb, and host.");
  Counters& ca_reloads_ = counters(*registry_, "rest_client_transport_ca_reload_total",
                                   "Number of times the certificate authority was looked at again, by result.");
  Counters& reloads_ = counters(*registry_, "rest_client_credential_reload_total",
                                "Number of times a file with credentials was looked at again, by file and result.");
  Counters& exec_calls_ =
      counters(*registry_, "rest_client_exec_plugin_call_total",
               "Number of calls to an exec plugin, partitioned by the type of event encountered and "
               "an optional exit code.");
};

// Fields of /proc/self/stat by their number in proc(5), which starts at 1; "" if there is none.
std::string stat_field(const std::string& stat, int number) {
  // The second field is the command in parentheses, which may contain anything.
  std::size_t at = stat.rfind(')');
  if (at == std::string::npos) return {};
  for (int i = 2; i < number && at != std::string::npos; ++i) at = stat.find(' ', at + 1);
  return at == std::string::npos ? std::string() : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

int count_open_files() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  int count = 0;
  while (readdir(directory) != nullptr) ++count;  // NOLINT(concurrency-mt-unsafe): a stream of our own
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return number(line.substr(6));
  }
  return 0;
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return gauges(registry, name, help).Add({});
}

}  // namespace

std::shared_ptr<RequestObserver> make_request_observer(std::shared_ptr<prometheus::Registry> registry) {
  return std::make_shared<ClientMetrics>(std::move(registry));
}

ProcessMetrics::ProcessMetrics(prometheus::Registry& r)
    : cpu_(gauge(r, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")),
      resident_(gauge(r, "process_resident_memory_bytes", "Resident memory size in bytes.")),
      virtual_(gauge(r, "process_virtual_memory_bytes", "Virtual memory size in bytes.")),
      open_files_(gauge(r, "process_open_fds", "Number of open file descriptors.")),
      max_files_(gauge(r, "process_max_fds", "Maximum number of open file descriptors.")),
      start_(gauge(r, "process_start_time_seconds", "Start time of the process since unix epoch in seconds.")),
      threads_(gauge(r, "process_threads", "Number of threads of the process.")) {}

void ProcessMetrics::refresh() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  if (!std::getline(file, stat)) return;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  cpu_.Set((number(stat_field(stat, 14)) + number(stat_field(stat, 15))) / ticks);
  threads_.Set(number(stat_field(stat, 20)));
  start_.Set(boot_time() + number(stat_field(stat, 22)) / ticks);
  virtual_.Set(number(stat_field(stat, 23)));
  resident_.Set(number(stat_field(stat, 24)) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  open_files_.Set(count_open_files());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) max_files_.Set(static_cast<double>(limit.rlim_cur));
}

}  // namespace kube::metrics
