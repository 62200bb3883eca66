// The driver for MetalLB as a process: metallb-iad, and the sandbox's part of that name.
#pragma once

int driver_main(int argc, const char* const* argv);
