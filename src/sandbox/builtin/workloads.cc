#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view workload_fields = R"(
# Deployment Pods of one template, replaced step by step when it changes.
spec {!} | What the Deployment should be.
  replicas i = 1 | How many pods.
  selector {~}@LabelSelector | Which pods belong to it; cannot be changed.
  template {!}@PodTemplate | The pods.
  strategy {!} = {"type": "RollingUpdate"} | How pods are replaced.
    type s | RollingUpdate or Recreate.
    rollingUpdate {} | Details of RollingUpdate.
      maxUnavailable x | How many may be missing.
      maxSurge x | How many may be too many.
  minReadySeconds i | How long a pod must be ready to count.
  revisionHistoryLimit i = 10 | How many old ReplicaSets are kept.
  paused b | Whether changes wait.
  progressDeadlineSeconds i = 600 | When a change counts as stuck.
status {!} | What it is.
  observedGeneration l | The generation that this is about.
  replicas i | How many pods there are.
  updatedReplicas i | How many have the latest template.
  readyReplicas i | How many are ready.
  availableReplicas i | How many count.
  unavailableReplicas i | How many are missing.
  terminatingReplicas i | How many are ending.
  conditions [type]@Condition | Details.
  collisionCount i | How often a name was taken.

# ReplicaSet As many pods of one template as are asked for.
spec {!} | What the ReplicaSet should be.
  replicas i = 1 | How many pods.
  minReadySeconds i | How long a pod must be ready to count.
  selector {~}@LabelSelector | Which pods belong to it; cannot be changed.
  template {!}@PodTemplate | The pods.
status {!} | What it is.
  observedGeneration l | The generation that this is about.
  replicas i | How many pods there are.
  fullyLabeledReplicas i | How many have the template's labels.
  readyReplicas i | How many are ready.
  availableReplicas i | How many count.
  terminatingReplicas i | How many are ending.
  conditions [type]@Condition | Details.

# PodDisruptionBudget How many pods may be missing when nodes are emptied.
spec {!} | The budget.
  minAvailable x | How many must stay.
  maxUnavailable x | How many may be missing.
  selector {~}@LabelSelector | The pods it is about.
  unhealthyPodEvictionPolicy s | Whether pods that are not ready may go.
status {!} | What it is.
  observedGeneration l | The generation that this is about.
  disruptedPods {*}any | Pods that are about to go.
  disruptionsAllowed i = 0 | How many may go now.
  currentHealthy i = 0 | How many are ready.
  desiredHealthy i = 0 | How many must be.
  expectedPods i = 0 | How many there are.
  conditions [type]@Condition | Details.

# NetworkPolicy Who may talk with the pods of a namespace.
spec {!} | The policy.
  podSelector {!~}@LabelSelector | The pods it is about.
  ingress []any | What may come in.
  egress []any | What may go out.
  policyTypes []s | Ingress, Egress.

# CustomResourceDefinition A kind that the server learns.
spec {!} | The kind.
  group s | Its API group.
  names {!} | Its names.
    plural s | In paths.
    singular s | For people.
    shortNames []s | Short forms for command lines.
    kind s | In documents.
    listKind s | Of lists in documents.
    categories []s | Groups of kinds that are listed together.
  scope s | Namespaced or Cluster.
  versions []{} | Its versions.
    name s | The version's name.
    served b | Whether it can be asked for.
    storage b | Whether it is the one that is stored.
    deprecated b | Whether its use is warned about.
    deprecationWarning s | The warning.
    schema {} | Its fields.
      openAPIV3Schema any | As a structural schema.
    subresources {} | What else can be asked for.
      status any | /status.
      scale any | /scale.
    additionalPrinterColumns []{} | Columns of tables.
      name s | The column's name.
      type s | string, integer, number, boolean or date.
      format s | Details of the type.
      description s | What it shows.
      priority i | 0: always shown.
      jsonPath s | Where its value is.
    selectableFields []{} | Fields for field selectors.
      jsonPath s | The field.
  conversion {} | How versions become one another.
    strategy s | None or Webhook.
    webhook any | The webhook.
  preserveUnknownFields b | No longer used.
status {!} | What became of it.
  conditions [type]@Condition | Whether it is served.
  acceptedNames {!} | The names it got.
    plural s | In paths.
    singular s | For people.
    shortNames []s | Short forms for command lines.
    kind s | In documents.
    listKind s | Of lists in documents.
    categories []s | Groups of kinds that are listed together.
  storedVersions []s | Versions that objects may be stored in.
  observedGeneration l | The generation that this is about.
)";

}  // namespace sandbox
