// The core: binds claims to addresses (docs/contract.md).
#include "cmd/core_main.h"

int main(int argc, char** argv) { return core_main(argc, argv); }
