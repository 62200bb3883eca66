#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view policy_fields = R"(
# MatchResources Requests that a policy is about.
namespaceSelector {~}@LabelSelector | Namespaces by their labels.
objectSelector {~}@LabelSelector | Objects by their labels.
resourceRules []@NamedRule | What is meant.
excludeResourceRules []@NamedRule | What is not.
matchPolicy s | Exact or Equivalent.

# NamedRule Operations on resources.
resourceNames []s | Names of objects.
operations []s | CREATE, UPDATE, DELETE, CONNECT or *.
apiGroups []s | API groups or *.
apiVersions []s | Versions or *.
resources []s | Resources, also with subresources, or *.
scope s | Cluster, Namespaced or *.

# ParamKind The kind of a policy's parameters.
apiVersion s | Its group and version.
kind s | Its name.

# ParamRef Parameters of a policy.
name s | Their name.
namespace s | Their namespace.
selector {~}@LabelSelector | Their labels, instead of a name.
parameterNotFoundAction s | Allow or Deny.

# NamedExpression An expression with a name.
name s | The name.
expression s | The expression (CEL).

# ValidatingAdmissionPolicy Rules that writes must keep.
spec {!} | The policy.
  paramKind {~}@ParamKind | The kind of its parameters.
  matchConstraints @MatchResources | What it is about.
  validations []{} | The rules.
    expression s | What must be true (CEL).
    message s | What is said otherwise.
    reason s | The reason of the refusal.
    messageExpression s | The message as an expression.
  failurePolicy s = "Fail" | What happens when a rule cannot be evaluated: Fail or Ignore.
  auditAnnotations []any | What is written to the audit log.
  matchConditions [name]@NamedExpression | Conditions for the policy to be asked.
  variables [name]@NamedExpression | Named parts of expressions.
status {!} | What became of it.
  observedGeneration l | The generation that this is about.
  typeChecking any | What is wrong with its expressions.
  conditions [type]@Condition | Details.

# ValidatingAdmissionPolicyBinding Puts a policy in force.
spec {!} | The binding.
  policyName s | The policy.
  paramRef {~}@ParamRef | Its parameters.
  matchResources @MatchResources | Where it is in force.
  validationActions [=]s | Deny, Warn or Audit.

# MutatingAdmissionPolicy Changes that writes get.
spec {!} | The policy.
  paramKind {~}@ParamKind | The kind of its parameters.
  matchConstraints @MatchResources | What it is about.
  variables [name]@NamedExpression | Named parts of expressions.
  mutations []{} | The changes.
    patchType s | ApplyConfiguration or JSONPatch.
    applyConfiguration any | A change in the form of an apply.
    jsonPatch any | A change as a JSON patch.
  failurePolicy s = "Fail" | What happens when a change cannot be evaluated: Fail or Ignore.
  matchConditions [name]@NamedExpression | Conditions for the policy to be asked.
  reinvocationPolicy s | Never or IfNeeded.

# MutatingAdmissionPolicyBinding Puts a policy in force.
spec {!} | The binding.
  policyName s | The policy.
  paramRef {~}@ParamRef | Its parameters.
  matchResources @MatchResources | Where it is in force.

# ValidatingWebhookConfiguration Services that are asked about writes.
webhooks [name]@Webhook | The services.

# MutatingWebhookConfiguration Services that may change writes.
webhooks [name]@Webhook | The services.

# Webhook A service that is asked about writes.
name s | Its name, unique in the list.
clientConfig any | How it is reached.
rules []any | What it is asked about.
failurePolicy s = "Fail" | What happens when it does not answer.
matchPolicy s = "Equivalent" | Exact or Equivalent.
namespaceSelector {~}@LabelSelector | Namespaces by their labels.
objectSelector {~}@LabelSelector | Objects by their labels.
sideEffects s | Whether asking changes anything.
timeoutSeconds i = 10 | How long it may take.
admissionReviewVersions []s | Versions it understands.
reinvocationPolicy s | Never or IfNeeded.
matchConditions [name]@NamedExpression | Conditions for it to be asked.

# PolicyRule Verbs on resources.
verbs []s | The verbs or *.
apiGroups []s | API groups or *.
resources []s | Resources or *.
resourceNames []s | Names of objects.
nonResourceURLs []s | Paths.

# RoleRef The role that is granted.
apiGroup s | Its group.
kind s | Role or ClusterRole.
name s | Its name.

# Subject Who a role is granted to.
kind s | User, Group or ServiceAccount.
apiGroup s | Its group.
name s | Its name.
namespace s | Its namespace.

# Role Rights in a namespace.
rules []@PolicyRule | The rights.

# ClusterRole Rights everywhere, or for use in any namespace.
rules []@PolicyRule | The rights.
aggregationRule any | Other roles whose rights it has.

# RoleBinding Grants a role in a namespace.
subjects []@Subject | To whom.
roleRef {!~}@RoleRef | What.

# ClusterRoleBinding Grants a role everywhere.
subjects []@Subject | To whom.
roleRef {!~}@RoleRef | What.

# Scale The size of a workload.
spec {!} | What is wanted.
  replicas i | How many.
status {!} | What there is.
  replicas i | How many.
  selector s | Which pods.
)";

}  // namespace sandbox
