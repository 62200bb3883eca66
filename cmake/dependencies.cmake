# Every library the product is built from, once, with what it is for. All are packages of the distribution; scripts/packages lists them.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(CURL REQUIRED)                                  # transport: TLS, HTTP/2, proxies
find_package(OpenSSL REQUIRED)                               # random identities, hashes, certificate parsing
find_package(Boost 1.81 REQUIRED COMPONENTS json url)        # Boost.JSON: dynamic documents; Boost.URL: escaping; Beast/Asio: probes
find_package(fmt REQUIRED)                                   # text formatting (GCC 12 has no std::format)
find_package(spdlog REQUIRED)                                # log sinks
find_package(yaml-cpp REQUIRED)                              # kubeconfig and scenario files
pkg_check_modules(libyaml REQUIRED IMPORTED_TARGET yaml-0.1) # YAML from anyone: what clients send to the sandbox
find_package(prometheus-cpp REQUIRED CONFIG COMPONENTS core) # metric registry and its text form
find_package(CLI11 REQUIRED)                                 # command lines
find_package(simdjson REQUIRED)                              # decoding of what the API server sends
