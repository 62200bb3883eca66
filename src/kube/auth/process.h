// Running a helper program to its end.
#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace kube {

struct ProcessSpec {
  std::string command;  // a path, or a name that is looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  base::Duration timeout = std::chrono::minutes(1);
  std::size_t max_output = 1 << 20;
};

struct ProcessResult {
  int exit_code = 0;   // 128 + signal if a signal ended it
  std::string output;  // its standard output
  std::string errors;  // the beginning of its standard error
};

enum class ProcessFailure : std::uint8_t { not_found, not_started, timed_out, too_much_output, stopped };
struct ProcessError {
  ProcessFailure kind = ProcessFailure::not_started;
  std::string message;
};

// Blocks until the program has ended. It gets no terminal and no input, and a process group of its own, all of which is
// killed when it takes too long, writes too much, or `stop` is requested.
std::expected<ProcessResult, ProcessError> run_process(const ProcessSpec& spec, const std::stop_token& stop);

}  // namespace kube
