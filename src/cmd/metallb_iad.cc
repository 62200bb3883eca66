// The driver for MetalLB (docs/metallb-driver.md).
#include "cmd/driver_main.h"

int main(int argc, char** argv) { return driver_main(argc, argv); }
