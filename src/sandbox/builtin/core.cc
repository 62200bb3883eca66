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
apiVersion s#5 | Group and version of its kind.
kind s#1 | Its kind.
namespace s#2 | Its namespace.
name s#3 | Its name.
uid s#4 | Its uid.
resourceVersion s#6 | The version of it that is meant.
fieldPath s#7 | The part of it that is meant.

# LabelSelector Chooses objects by their labels; all parts must hold.
matchLabels {*}s#1 | Labels an object must have.
matchExpressions []{}#2 | Requirements beyond equality.
  key s#1 | The label's key.
  operator s#2 | In, NotIn, Exists or DoesNotExist.
  values []s#3 | What In and NotIn compare with.

# ObjectMeta What every object has.
name s#1 | The object's name, unique among its kind in a namespace.
generateName s#2 | A prefix for a name that the server completes.
namespace s#3 | The namespace it is in.
selfLink s#4 | No longer used.
uid s#5 | Given by the server; no other object ever has it.
resourceVersion s#6 | Changes with every write.
generation l#7 | Counts changes of what is wanted.
creationTimestamp t#8 | When the server stored it first.
deletionTimestamp t#9 | When its deletion was asked for.
deletionGracePeriodSeconds l#10 | How long it may take to end.
labels {*}s#11 | Keys and values to select by.
annotations {*}s#12 | Keys and values for tools.
ownerReferences [uid]{~}#13 | Objects it depends on: when all of them are gone, so is this one.
  apiVersion s#5 | Group and version of the owner.
  kind s#1 | Kind of the owner.
  name s#3 | Name of the owner.
  uid s#4 | uid of the owner.
  controller b#6 | Whether the owner manages this object.
  blockOwnerDeletion b#7 | Whether the owner waits for this object in a foreground deletion.
finalizers [=]s#14 | Who must agree before the object is removed.
managedFields []{}#17 | Who set which fields.
  manager s#1 | The name of the writer.
  operation s#2 | Apply or Update.
  apiVersion s#3 | The version that the fields are of.
  time t#4 | When the set changed last.
  fieldsType s#6 | FieldsV1.
  fieldsV1 any | The fields, as a tree.
  subresource s#8 | The part of the object that was written.

# Namespace A scope for names; deleting it deletes all that it contains.
spec {!}#2 | What the namespace should be.
  finalizers []s#1 | What must be empty before it is removed.
status {!}#3 | What it is.
  phase s#1 | Active or Terminating.
  conditions [type]@Condition#2 | Details, while it is emptied.

# ConfigMap Configuration as texts.
data {*}s#2 | Texts by their keys.
binaryData {*}y#3 | Bytes by their keys, in base64.
immutable b#4 | Forbids changes of the data.

# Secret Configuration that is not shown by accident.
data {*}y#2 | Bytes by their keys, in base64.
stringData {*}s#4 | Texts that are added to data when written; never read back.
immutable b#5 | Forbids changes of the data.
type s#3 | What the data is for.

# ServiceAccount An identity for what runs in pods.
secrets [name]@ObjectReference#2 | Secrets that its pods may use.
imagePullSecrets [name]{~}#3 | Secrets for pulling images.
  name s#1 | The secret's name.
automountServiceAccountToken b#4 | Whether pods get a token of this identity.

# Service One address for a set of pods.
spec {!}#2 | What the Service should be.
  type s#4 | ClusterIP, NodePort, LoadBalancer or ExternalName.
  ports [port,protocol]{}#1 | What it listens on.
    name s#1 | The port's name, unique in the Service.
    protocol s#2 = "TCP" | TCP, UDP or SCTP.
    appProtocol s#6 | The protocol of the application.
    port i#3 | The port of the Service.
    targetPort x#4 | The port of the pods, by number or name.
    nodePort i#5 | The port on every node.
  selector {*~}s#2 | The labels of the pods that serve it; without one, endpoints are somebody else's business.
  clusterIP s#3 | Its first address in the cluster; None for no address.
  clusterIPs []s#18 | Its addresses in the cluster, at most one of each family.
  ipFamilies []s#19 | IPv4, IPv6, in order of preference.
  ipFamilyPolicy s#17 | SingleStack, PreferDualStack or RequireDualStack.
  externalIPs []s#5 | Addresses of nodes that accept traffic for it.
  externalName s#10 | The DNS name that type ExternalName stands for.
  loadBalancerIP s#8 | A wish for an address; deprecated in favour of annotations of the implementation.
  loadBalancerSourceRanges []s#9 | Clients that a load balancer lets in.
  loadBalancerClass s#21 | Which implementation shall serve it; others leave it alone.
  allocateLoadBalancerNodePorts b#20 | Whether type LoadBalancer gets node ports.
  externalTrafficPolicy s#11 | Cluster or Local: whether nodes pass traffic on to others.
  internalTrafficPolicy s#22 | The same for traffic from inside.
  healthCheckNodePort i#12 | Where load balancers ask a node whether it has pods.
  publishNotReadyAddresses b#13 | Whether pods count before they are ready.
  sessionAffinity s#7 | ClientIP or None.
  sessionAffinityConfig {}#14 | Details of the affinity.
    clientIP {}#1 | Affinity by client address.
      timeoutSeconds i#1 | How long it lasts.
  trafficDistribution s#23 | A preference among endpoints.
status {!}#3 | What it is.
  loadBalancer {!}#1 | What a load balancer has given it.
    ingress []{}#1 | Addresses that serve it.
      ip s#1 | An IP address.
      ipMode s#3 | VIP or Proxy.
      hostname s#2 | A DNS name.
      ports []{}#4 | Ports and what is wrong with them.
        port i#1 | The port.
        protocol s#2 | Its protocol.
        error s#3 | What is wrong.
  conditions [type]@Condition#2 | Details.

# Endpoints The addresses of a Service in one list; superseded by EndpointSlice.
subsets []{}#2 | Groups of addresses with the same ports.
  addresses []@EndpointAddress#1 | Addresses that serve.
  notReadyAddresses []@EndpointAddress#2 | Addresses that do not serve yet.
  ports []{}#3 | Their ports.
    name s#1 | The port's name.
    port i#2 | The number.
    protocol s#3 = "TCP" | TCP, UDP or SCTP.
    appProtocol s#4 | The protocol of the application.

# EndpointAddress One address of a Service.
ip s#1 | The address.
hostname s#3 | Its host name.
nodeName s#4 | The node it is on.
targetRef {~}@ObjectReference#2 | The pod behind it.

# Event Something that happened to an object.
involvedObject {!~}@ObjectReference#2 | The object.
reason s#3 | What happened, in one word.
message s#4 | What happened, in words.
source {!}#5 | Who reported it first.
  component s#1 | The program.
  host s#2 | The node.
firstTimestamp t#6 | When it happened first.
lastTimestamp t#7 | When it happened last.
count i#8 | How often it happened.
type s#9 | Normal or Warning.
eventTime t#10 | When it was observed, to the microsecond.
series {}#11 | How it went on.
  count i#1 | How often it has happened.
  lastObservedTime t#2 | When it happened last.
action s#12 | What was done about it.
related {~}@ObjectReference#13 | A second object.
reportingComponent s#14 | Who reports it.
reportingInstance s#15 | Which of its instances.

# Event.events.k8s.io Something that happened to an object.
eventTime t#2 | When it was observed, to the microsecond.
series {}#3 | How it went on.
  count i#1 | How often it has happened.
  lastObservedTime t#2 | When it happened last.
reportingController s#4 | Who reports it.
reportingInstance s#5 | Which of its instances.
action s#6 | What was done about it.
reason s#7 | What happened, in one word.
regarding {~}@ObjectReference#8 | The object.
related {~}@ObjectReference#9 | A second object.
note s#10 | What happened, in words.
type s#11 | Normal or Warning.
deprecatedSource {}#12 | Who reported it, in the older form.
  component s#1 | The program.
  host s#2 | The node.
deprecatedFirstTimestamp t#13 | When it happened first.
deprecatedLastTimestamp t#14 | When it happened last.
deprecatedCount i#15 | How often it happened.

# Lease Says who leads, until when.
spec {!}#2 | The lease.
  holderIdentity s#1 | Who holds it.
  leaseDurationSeconds i#2 | How long others wait after the last renewal.
  acquireTime t#3 | When the holder got it.
  renewTime t#4 | When the holder renewed it last.
  leaseTransitions i#5 | How often the holder changed.
  strategy s#6 | How a holder is chosen among candidates.
  preferredHolder s#7 | Who should have it next.

# EndpointSlice Some of the addresses that serve a Service.
addressType s#4 | IPv4, IPv6 or FQDN.
endpoints []{}#2 | The addresses.
  addresses []s#1 | Addresses of one endpoint.
  conditions {!}#2 | Whether it serves.
    ready b#1 | Whether it takes new connections.
    serving b#2 | Whether it works, also while ending.
    terminating b#3 | Whether it is ending.
  hostname s#3 | Its host name.
  targetRef {~}@ObjectReference#4 | The pod behind it.
  deprecatedTopology {*}s#5 | No longer used.
  nodeName s#6 | The node it is on.
  zone s#7 | The zone it is in.
  hints any | Where traffic should come from.
ports []{}#3 | The ports of every endpoint.
  name s#1 | The port's name.
  protocol s#2 | TCP, UDP or SCTP.
  port i#3 | The number.
  appProtocol s#4 | The protocol of the application.
)";

}  // namespace sandbox
