#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view workload_fields = R"(
# Deployment Pods of one template, replaced step by step when it changes.
spec {!}#2 | What the Deployment should be.
  replicas i#1 = 1 | How many pods.
  selector {~}@LabelSelector#2 | Which pods belong to it; cannot be changed.
  template {!}@PodTemplate#3 | The pods.
  strategy {!}#4 = {} | How pods are replaced.
    type s#1 = "RollingUpdate" | RollingUpdate or Recreate.
    rollingUpdate {}#2 | Details of RollingUpdate.
      maxUnavailable x#1 | How many may be missing.
      maxSurge x#2 | How many may be too many.
  minReadySeconds i#5 | How long a pod must be ready to count.
  revisionHistoryLimit i#6 = 10 | How many old ReplicaSets are kept.
  paused b#7 | Whether changes wait.
  progressDeadlineSeconds i#9 = 600 | When a change counts as stuck.
status {!}#3 | What it is.
  observedGeneration l#1 | The generation that this is about.
  replicas i#2 | How many pods there are.
  updatedReplicas i#3 | How many have the latest template.
  readyReplicas i#7 | How many are ready.
  availableReplicas i#4 | How many count.
  unavailableReplicas i#5 | How many are missing.
  terminatingReplicas i#9 | How many are ending.
  conditions [type]@Condition#6 | Details.
  collisionCount i#8 | How often a name was taken.

# ReplicaSet As many pods of one template as are asked for.
spec {!}#2 | What the ReplicaSet should be.
  replicas i#1 = 1 | How many pods.
  minReadySeconds i#4 | How long a pod must be ready to count.
  selector {~}@LabelSelector#2 | Which pods belong to it; cannot be changed.
  template {!}@PodTemplate#3 | The pods.
status {!}#3 | What it is.
  observedGeneration l#3 | The generation that this is about.
  replicas i#1 | How many pods there are.
  fullyLabeledReplicas i#2 | How many have the template's labels.
  readyReplicas i#4 | How many are ready.
  availableReplicas i#5 | How many count.
  terminatingReplicas i#7 | How many are ending.
  conditions [type]@Condition#6 | Details.

# Node A machine that pods run on.
spec {!}#2 | What the node should be.
  podCIDR s#1 | Addresses for its pods.
  podCIDRs [=]s#7 | Addresses for its pods, of each family.
  providerID s#3 | What its provider calls it.
  unschedulable b#4 | Whether it takes no new pods.
  taints []{}#5 | What pods must tolerate to run on it.
    key s#1 | The taint's name.
    value s#2 | Its value.
    effect s#3 | NoSchedule, PreferNoSchedule or NoExecute.
    timeAdded t#4 | When it was added.
status {!}#3 | What it is.
  capacity {*}q#1 | What it has.
  allocatable {*}q#2 | What of it pods may have.
  phase s#3 | No longer used.
  conditions [type]{}#4 | How it is.
    type s#1 | Ready, MemoryPressure and others.
    status s#2 | True, False or Unknown.
    lastHeartbeatTime t#3 | When it was heard of last.
    lastTransitionTime t#4 | When status changed last.
    reason s#5 | The cause, in one word.
    message s#6 | The cause, for people.
  addresses [type]{}#5 | Where it is reached.
    type s#1 | InternalIP, ExternalIP, Hostname and others.
    address s#2 | The address.
  daemonEndpoints {!}#6 | Ports of its daemons.
    kubeletEndpoint {!}#1 | Its kubelet.
      Port i#1 | The port.
  nodeInfo {!}#7 | Its system.
    machineID s#1 | Its id.
    systemUUID s#2 | Its id.
    bootID s#3 | The id of its last start.
    kernelVersion s#4 | Its kernel.
    osImage s#5 | Its system.
    containerRuntimeVersion s#6 | What runs its containers.
    kubeletVersion s#7 | Its kubelet.
    kubeProxyVersion s#8 | No longer used.
    operatingSystem s#9 | Its operating system.
    architecture s#10 | Its processors.
  images []any | Images it has.
  volumesInUse []s#9 | Volumes it uses.
  volumesAttached []any | Volumes it has.
  config any | No longer used.

# PodDisruptionBudget How many pods may be missing when nodes are emptied.
spec {!}#2 | The budget.
  minAvailable x#1 | How many must stay.
  maxUnavailable x#3 | How many may be missing.
  selector {~}@LabelSelector#2 | The pods it is about.
  unhealthyPodEvictionPolicy s#4 | Whether pods that are not ready may go.
status {!}#3 | What it is.
  observedGeneration l#1 | The generation that this is about.
  disruptedPods {*}any | Pods that are about to go.
  disruptionsAllowed i#3 = 0 | How many may go now.
  currentHealthy i#4 = 0 | How many are ready.
  desiredHealthy i#5 = 0 | How many must be.
  expectedPods i#6 = 0 | How many there are.
  conditions [type]@Condition#7 | Details.

# NetworkPolicy Who may talk with the pods of a namespace.
spec {!}#2 | The policy.
  podSelector {!~}@LabelSelector#1 | The pods it is about.
  ingress []any | What may come in.
  egress []any | What may go out.
  policyTypes []s#4 | Ingress, Egress.

# CustomResourceDefinition A kind that the server learns.
spec {!}#2 | The kind.
  group s#1 | Its API group.
  names {!}#3 | Its names.
    plural s#1 | In paths.
    singular s#2 | For people.
    shortNames []s#3 | Short forms for command lines.
    kind s#4 | In documents.
    listKind s#5 | Of lists in documents.
    categories []s#6 | Groups of kinds that are listed together.
  scope s#4 | Namespaced or Cluster.
  versions []{}#7 | Its versions.
    name s#1 | The version's name.
    served b#2 | Whether it can be asked for.
    storage b#3 | Whether it is the one that is stored.
    deprecated b#7 | Whether its use is warned about.
    deprecationWarning s#8 | The warning.
    schema {}#4 | Its fields.
      openAPIV3Schema any | As a structural schema.
    subresources {}#5 | What else can be asked for.
      status any | /status.
      scale any | /scale.
    additionalPrinterColumns []{}#6 | Columns of tables.
      name s#1 | The column's name.
      type s#2 | string, integer, number, boolean or date.
      format s#3 | Details of the type.
      description s#4 | What it shows.
      priority i#5 | 0: always shown.
      jsonPath s#6 | Where its value is.
    selectableFields []{}#9 | Fields for field selectors.
      jsonPath s#1 | The field.
  conversion {}#9 | How versions become one another.
    strategy s#1 | None or Webhook.
    webhook any | The webhook.
  preserveUnknownFields b#10 | No longer used.
status {!}#3 | What became of it.
  conditions [type]@Condition#1 | Whether it is served.
  acceptedNames {!}#2 | The names it got.
    plural s#1 | In paths.
    singular s#2 | For people.
    shortNames []s#3 | Short forms for command lines.
    kind s#4 | In documents.
    listKind s#5 | Of lists in documents.
    categories []s#6 | Groups of kinds that are listed together.
  storedVersions []s#3 | Versions that objects may be stored in.
  observedGeneration l#4 | The generation that this is about.
)";

}  // namespace sandbox
