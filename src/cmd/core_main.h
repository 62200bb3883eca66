// The core as a process: address-controller, and the sandbox's part of that name.
#pragma once

int core_main(int argc, const char* const* argv);
