#include "api/metallb.h"

#include "kube/json_decode.h"

namespace kube::json {

using api::BGPAdvertisement;
using api::ConfigurationState;
using api::IPAddressPool;
using api::L2Advertisement;

namespace {

// The spec is kept as text, and the fields are read out of that.
bool read_pool_spec(Value& value, IPAddressPool& out, Trail& trail);

constexpr std::array pool_spec{field<&IPAddressPool::addresses>("addresses"),
                               field<&IPAddressPool::autoAssign>("autoAssign"),
                               field<&IPAddressPool::avoidBuggyIPs>("avoidBuggyIPs")};

bool read_pool_spec(Value& value, IPAddressPool& out, Trail& trail) {
  if (!read_raw(value, out.spec, trail)) return false;
  const auto read_key = [](std::string_view key, Value& v, void* pool, Trail& t) {
    for (const Field<IPAddressPool>& field : pool_spec) {
      if (field.key == key) return field.read(v, *static_cast<IPAddressPool*>(pool), t);
    }
    return true;
  };
  return read_fragment(out.spec, &out, read_key, trail);
}

constexpr Resource pool_resource{"metallb.io", "v1beta1", "ipaddresspools", "IPAddressPool", true};
constexpr Resource l2_resource{"metallb.io", "v1beta1", "l2advertisements", "L2Advertisement", true};
constexpr Resource bgp_resource{"metallb.io", "v1beta1", "bgpadvertisements", "BGPAdvertisement", true};
constexpr Resource state_resource{"metallb.io", "v1beta1", "configurationstates", "ConfigurationState", true};

constexpr std::array state_status{field<&ConfigurationState::result>("result"),
                                  field<&ConfigurationState::errorSummary>("errorSummary")};

}  // namespace

template <>
struct Fields<IPAddressPool> {
  static constexpr std::array list{Field<IPAddressPool>{
      "spec", read_pool_spec, [](const IPAddressPool& a, const IPAddressPool& b) { return a.spec == b.spec; }}};
};

template <>
struct Fields<L2Advertisement> {
  static constexpr std::array list{raw_field<&L2Advertisement::spec>("spec")};
};

template <>
struct Fields<BGPAdvertisement> {
  static constexpr std::array list{raw_field<&BGPAdvertisement::spec>("spec")};
};

template <>
struct Fields<ConfigurationState> {
  static constexpr std::array list{section<ConfigurationState, state_status>("status")};
};

}  // namespace kube::json

namespace api {

const kube::Kind& IPAddressPool::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<IPAddressPool, kube::json::pool_resource>();
  return kind;
}

const kube::Kind& L2Advertisement::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<L2Advertisement, kube::json::l2_resource>();
  return kind;
}

const kube::Kind& BGPAdvertisement::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<BGPAdvertisement, kube::json::bgp_resource>();
  return kind;
}

const kube::Kind& ConfigurationState::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<ConfigurationState, kube::json::state_resource>();
  return kind;
}

}  // namespace api
