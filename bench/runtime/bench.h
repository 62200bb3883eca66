// What the microbenchmarks share: claims as the server sends them, memory and time of this thread.
#pragma once

#include <fmt/format.h>
#include <malloc.h>

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

namespace kube {

// Under a kilobyte, a third of it in managedFields, which nobody reads.
inline std::string claim_json(int i, int version, std::string_view ns, std::string_view finalizers,
                              std::string_view status) {
  return fmt::format(
      R"({{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClaim","metadata":{{"name":"claim-{:06}","namespace":"{}",)"
      R"("uid":"3f0c7a5e-0000-4000-8000-{:012}","resourceVersion":"{}","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",)"
      R"("annotations":{{"local.sdn.cozystack.io/provisioner":"metallb.drivers.local.sdn.cozystack.io",)"
      R"("local.sdn.cozystack.io/recorded-uid":"3f0c7a5e-0000-4000-8000-{:012}"}},"finalizers":[{}],)"
      R"("managedFields":[{{"manager":"kubectl","operation":"Update","apiVersion":"local.sdn.cozystack.io/v1alpha1","time":"2026-01-01T00:00:00Z",)"
      R"("fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{".":{{}},"f:className":{{}},"f:family":{{}}}}}}}}]}},)"
      R"("spec":{{"className":"public","family":"IPv4"}},"status":{{{}}}}})",
      i, ns, i, version, i, finalizers, status);
}

inline std::size_t heap() { return mallinfo2().uordblks; }

// Of this thread, so that other processes do not count.
inline double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace kube
