#include "kube/support/http2_front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kube/support/fake_server.h"

namespace kube::test {
namespace {

bool accepts(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

int free_port() {
  const auto [fd, port] = listen_on_loopback();
  close(fd);
  return port;
}

pid_t start(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("nghttpx cannot be started: install nghttp2-proxy");
  return pid;
}

}  // namespace

Http2Front::Http2Front(const KeyPair& pair, int backend_port) : port_(free_port()) {
  const std::string key = directory_.write("key.pem", pair.key);
  const std::string certificate = directory_.write("certificate.pem", pair.certificate);
  pid_ = start({"nghttpx", "--conf=/dev/null", "--frontend=127.0.0.1," + std::to_string(port_),
                "--backend=127.0.0.1," + std::to_string(backend_port), "--workers=1", "--single-process",
                "--accesslog-file=/dev/null", "--errorlog-file=/dev/null", "--no-ocsp", "--backend-read-timeout=60s",
                key, certificate});
  for (int i = 0; i < 500; ++i) {
    if (accepts(port_)) return;
    if (int status = 0; waitpid(pid_, &status, WNOHANG) == pid_) throw std::runtime_error("nghttpx has ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  throw std::runtime_error("nghttpx does not accept connections");
}

Http2Front::~Http2Front() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace kube::test
