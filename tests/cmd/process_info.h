// What the system says of a process. Linux only, as the rest.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace cmd_test {

std::size_t open_files(pid_t pid);
std::size_t resident_bytes(pid_t pid);
// The most that it ever was.
std::size_t peak_bytes(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);
// Its words joined by spaces, "" if there is no such process or it has ended and waits to be reaped.
std::string command_line(pid_t pid);

}  // namespace cmd_test
