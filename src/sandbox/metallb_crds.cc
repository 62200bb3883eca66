// MetalLB's kinds, described by the sandbox itself: the fields that a driver or an admin writes and reads.
#include "sandbox/api_server.h"

namespace sandbox {
namespace {

constexpr std::string_view definitions = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ipaddresspools.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: IPAddressPool, listKind: IPAddressPoolList, plural: ipaddresspools, singular: ipaddresspool}
  versions:
  - name: v1beta1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Auto Assign, type: boolean, jsonPath: .spec.autoAssign}
    - {name: Avoid Buggy IPs, type: boolean, jsonPath: .spec.avoidBuggyIPs}
    - {name: Addresses, type: string, jsonPath: .spec.addresses}
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [addresses]
            properties:
              addresses: {type: array, items: {type: string}}
              autoAssign: {type: boolean, default: true}
              avoidBuggyIPs: {type: boolean, default: false}
              serviceAllocation: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            required: [assignedIPv4, assignedIPv6, availableIPv4, availableIPv6]
            properties:
              assignedIPv4: {type: integer, format: int64}
              assignedIPv6: {type: integer, format: int64}
              availableIPv4: {type: integer, format: int64}
              availableIPv6: {type: integer, format: int64}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: l2advertisements.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: L2Advertisement, listKind: L2AdvertisementList, plural: l2advertisements, singular: l2advertisement}
  versions:
  - name: v1beta1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: IPAddressPools, type: string, jsonPath: .spec.ipAddressPools}
    - {name: IPAddressPool Selectors, type: string, jsonPath: .spec.ipAddressPoolSelectors}
    - {name: Interfaces, type: string, jsonPath: .spec.interfaces}
    - {name: Node Selectors, type: string, priority: 10, jsonPath: .spec.nodeSelectors}
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              ipAddressPools: {type: array, items: {type: string}}
              ipAddressPoolSelectors: &selectors
                type: array
                items:
                  type: object
                  properties:
                    matchLabels: {type: object, additionalProperties: {type: string}}
                    matchExpressions:
                      type: array
                      items:
                        type: object
                        required: [key, operator]
                        properties:
                          key: {type: string}
                          operator: {type: string}
                          values: {type: array, items: {type: string}}
              interfaces: {type: array, items: {type: string}}
              nodeSelectors: *selectors
              serviceSelectors: *selectors
          status: {type: object}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bgpadvertisements.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: BGPAdvertisement, listKind: BGPAdvertisementList, plural: bgpadvertisements, singular: bgpadvertisement}
  versions:
  - name: v1beta1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: IPAddressPools, type: string, jsonPath: .spec.ipAddressPools}
    - {name: IPAddressPool Selectors, type: string, jsonPath: .spec.ipAddressPoolSelectors}
    - {name: Peers, type: string, jsonPath: .spec.peers}
    - {name: Node Selectors, type: string, priority: 10, jsonPath: .spec.nodeSelectors}
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              aggregationLength: {type: integer, format: int32, default: 32, minimum: 1}
              aggregationLengthV6: {type: integer, format: int32, default: 128}
              communities: {type: array, items: {type: string}}
              ipAddressPools: {type: array, items: {type: string}}
              ipAddressPoolSelectors: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
              localPref: {type: integer, format: int32}
              nodeSelectors: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
              peers: {type: array, items: {type: string}}
              serviceSelectors: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
          status: {type: object}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: communities.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: Community, listKind: CommunityList, plural: communities, singular: community}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              communities:
                type: array
                items: {type: object, properties: {name: {type: string}, value: {type: string}}}
          status: {type: object}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: configurationstates.metallb.io}
spec:
  group: metallb.io
  scope: Namespaced
  names: {kind: ConfigurationState, listKind: ConfigurationStateList, plural: configurationstates, singular: configurationstate}
  versions:
  - name: v1beta1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Result, type: string, jsonPath: .status.result}
    - {name: ErrorSummary, type: string, jsonPath: .status.errorSummary}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

}  // namespace

void ApiServer::load_metallb_crds() { load_crds(definitions); }

}  // namespace sandbox
