#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view core_fields = R"(
# Condition One aspect of an object's state.
type s | What the condition is about; unique in its list.
status s | True, False or Unknown.
observedGeneration l | The generation of the object that this was said about.
lastTransitionTime t | When status changed last.
lastProbeTime t | When it was looked at last.
lastUpdateTime t | When it was written last.
reason s | The cause of the last change, in one word.
message s | The cause, for people.

# ObjectReference Another object.
apiVersion s | Group and version of its kind.
kind s | Its kind.
namespace s | Its namespace.
name s | Its name.
uid s | Its uid.
resourceVersion s | The version of it that is meant.
fieldPath s | The part of it that is meant.

# LabelSelector Chooses objects by their labels; all parts must hold.
matchLabels {*}s | Labels an object must have.
matchExpressions []{} | Requirements beyond equality.
  key s | The label's key.
  operator s | In, NotIn, Exists or DoesNotExist.
  values []s | What In and NotIn compare with.

# ObjectMeta What every object has.
name s | The object's name, unique among its kind in a namespace.
generateName s | A prefix for a name that the server completes.
namespace s | The namespace it is in.
selfLink s | No longer used.
uid s | Given by the server; no other object ever has it.
resourceVersion s | Changes with every write.
generation l | Counts changes of what is wanted.
creationTimestamp t | When the server stored it first.
deletionTimestamp t | When its deletion was asked for.
deletionGracePeriodSeconds l | How long it may take to end.
labels {*}s | Keys and values to select by.
annotations {*}s | Keys and values for tools.
ownerReferences [uid]{~} | Objects it depends on: when all of them are gone, so is this one.
  apiVersion s | Group and version of the owner.
  kind s | Kind of the owner.
  name s | Name of the owner.
  uid s | uid of the owner.
  controller b | Whether the owner manages this object.
  blockOwnerDeletion b | Whether the owner waits for this object in a foreground deletion.
finalizers [=]s | Who must agree before the object is removed.
managedFields []{} | Who set which fields.
  manager s | The name of the writer.
  operation s | Apply or Update.
  apiVersion s | The version that the fields are of.
  time t | When the set changed last.
  fieldsType s | FieldsV1.
  fieldsV1 any | The fields, as a tree.
  subresource s | The part of the object that was written.

# Namespace A scope for names; deleting it deletes all that it contains.
spec {!} | What the namespace should be.
  finalizers []s | What must be empty before it is removed.
status {!} | What it is.
  phase s | Active or Terminating.
  conditions [type]@Condition | Details, while it is emptied.

# ConfigMap Configuration as texts.
data {*}s | Texts by their keys.
binaryData {*}s | Bytes by their keys, in base64.
immutable b | Forbids changes of the data.

# Secret Configuration that is not shown by accident.
data {*}s | Bytes by their keys, in base64.
stringData {*}s | Texts that are added to data when written; never read back.
immutable b | Forbids changes of the data.
type s | What the data is for.

# ServiceAccount An identity for what runs in pods.
secrets [name]@ObjectReference | Secrets that its pods may use.
imagePullSecrets [name]{~} | Secrets for pulling images.
  name s | The secret's name.
automountServiceAccountToken b | Whether pods get a token of this identity.

# Service One address for a set of pods.
spec {!} | What the Service should be.
  type s | ClusterIP, NodePort, LoadBalancer or ExternalName.
  ports [port,protocol]{} | What it listens on.
    name s | The port's name, unique in the Service.
    protocol s = "TCP" | TCP, UDP or SCTP.
    appProtocol s | The protocol of the application.
    port i | The port of the Service.
    targetPort x | The port of the pods, by number or name.
    nodePort i | The port on every node.
  selector {*~}s | The labels of the pods that serve it; without one, endpoints are somebody else's business.
  clusterIP s | Its first address in the cluster; None for no address.
  clusterIPs []s | Its addresses in the cluster, at most one of each family.
  ipFamilies []s | IPv4, IPv6, in order of preference.
  ipFamilyPolicy s | SingleStack, PreferDualStack or RequireDualStack.
  externalIPs []s | Addresses of nodes that accept traffic for it.
  externalName s | The DNS name that type ExternalName stands for.
  loadBalancerIP s | A wish for an address; deprecated in favour of annotations of the implementation.
  loadBalancerSourceRanges []s | Clients that a load balancer lets in.
  loadBalancerClass s | Which implementation shall serve it; others leave it alone.
  allocateLoadBalancerNodePorts b | Whether type LoadBalancer gets node ports.
  externalTrafficPolicy s | Cluster or Local: whether nodes pass traffic on to others.
  internalTrafficPolicy s | The same for traffic from inside.
  healthCheckNodePort i | Where load balancers ask a node whether it has pods.
  publishNotReadyAddresses b | Whether pods count before they are ready.
  sessionAffinity s | ClientIP or None.
  sessionAffinityConfig {} | Details of the affinity.
    clientIP {} | Affinity by client address.
      timeoutSeconds i | How long it lasts.
  trafficDistribution s | A preference among endpoints.
status {!} | What it is.
  loadBalancer {!} | What a load balancer has given it.
    ingress []{} | Addresses that serve it.
      ip s | An IP address.
      ipMode s | VIP or Proxy.
      hostname s | A DNS name.
      ports []{} | Ports and what is wrong with them.
        port i | The port.
        protocol s | Its protocol.
        error s | What is wrong.
  conditions [type]@Condition | Details.

# Endpoints The addresses of a Service in one list; superseded by EndpointSlice.
subsets []{} | Groups of addresses with the same ports.
  addresses []@EndpointAddress | Addresses that serve.
  notReadyAddresses []@EndpointAddress | Addresses that do not serve yet.
  ports []{} | Their ports.
    name s | The port's name.
    port i | The number.
    protocol s = "TCP" | TCP, UDP or SCTP.
    appProtocol s | The protocol of the application.

# EndpointAddress One address of a Service.
ip s | The address.
hostname s | Its host name.
nodeName s | The node it is on.
targetRef {~}@ObjectReference | The pod behind it.

# Event Something that happened to an object.
involvedObject {!~}@ObjectReference | The object.
reason s | What happened, in one word.
message s | What happened, in words.
source {!} | Who reported it first.
  component s | The program.
  host s | The node.
firstTimestamp t | When it happened first.
lastTimestamp t | When it happened last.
count i | How often it happened.
type s | Normal or Warning.
eventTime t | When it was observed, to the microsecond.
series {} | How it went on.
  count i | How often it has happened.
  lastObservedTime t | When it happened last.
action s | What was done about it.
related {~}@ObjectReference | A second object.
reportingComponent s | Who reports it.
reportingInstance s | Which of its instances.

# Event.events.k8s.io Something that happened to an object.
eventTime t | When it was observed, to the microsecond.
series {} | How it went on.
  count i | How often it has happened.
  lastObservedTime t | When it happened last.
reportingController s | Who reports it.
reportingInstance s | Which of its instances.
action s | What was done about it.
reason s | What happened, in one word.
regarding {~}@ObjectReference | The object.
related {~}@ObjectReference | A second object.
note s | What happened, in words.
type s | Normal or Warning.
deprecatedSource {} | Who reported it, in the older form.
  component s | The program.
  host s | The node.
deprecatedFirstTimestamp t | When it happened first.
deprecatedLastTimestamp t | When it happened last.
deprecatedCount i | How often it happened.

# Lease Says who leads, until when.
spec {!} | The lease.
  holderIdentity s | Who holds it.
  leaseDurationSeconds i | How long others wait after the last renewal.
  acquireTime t | When the holder got it.
  renewTime t | When the holder renewed it last.
  leaseTransitions i | How often the holder changed.
  strategy s | How a holder is chosen among candidates.
  preferredHolder s | Who should have it next.

# EndpointSlice Some of the addresses that serve a Service.
addressType s | IPv4, IPv6 or FQDN.
endpoints []{} | The addresses.
  addresses []s | Addresses of one endpoint.
  conditions {!} | Whether it serves.
    ready b | Whether it takes new connections.
    serving b | Whether it works, also while ending.
    terminating b | Whether it is ending.
  hostname s | Its host name.
  targetRef {~}@ObjectReference | The pod behind it.
  deprecatedTopology {*}s | No longer used.
  nodeName s | The node it is on.
  zone s | The zone it is in.
  hints any | Where traffic should come from.
ports []{} | The ports of every endpoint.
  name s | The port's name.
  protocol s | TCP, UDP or SCTP.
  port i | The number.
  appProtocol s | The protocol of the application.
)";

}  // namespace sandbox
