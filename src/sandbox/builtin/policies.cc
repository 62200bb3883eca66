#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view policy_fields = R"(
# MatchResources Requests that a policy is about.
namespaceSelector {~}@LabelSelector#1 = {} | Namespaces by their labels.
objectSelector {~}@LabelSelector#2 = {} | Objects by their labels.
resourceRules []@NamedRule#3 | What is meant.
excludeResourceRules []@NamedRule#4 | What is not.
matchPolicy s#7 = "Equivalent" | Exact or Equivalent.

# NamedRule Operations on resources.
resourceNames []s#1 | Names of objects.
operations []s | CREATE, UPDATE, DELETE, CONNECT or *.
apiGroups []s | API groups or *.
apiVersions []s | Versions or *.
resources []s | Resources, also with subresources, or *.
scope s = "*" | Cluster, Namespaced or *.

# ParamKind The kind of a policy's parameters.
apiVersion s#1 | Its group and version.
kind s#2 | Its name.

# ParamRef Parameters of a policy.
name s#1 | Their name.
namespace s#2 | Their namespace.
selector {~}@LabelSelector#3 | Their labels, instead of a name.
parameterNotFoundAction s#4 | Allow or Deny.

# NamedExpression An expression with a name.
name s | The name.
expression s | The expression (CEL).

# ValidatingAdmissionPolicy Rules that writes must keep.
spec {!}#2 | The policy.
  paramKind {~}@ParamKind#1 | The kind of its parameters.
  matchConstraints @MatchResources#2 | What it is about.
  validations []{}#3 | The rules.
    expression s | What must be true (CEL).
    message s#2 | What is said otherwise.
    reason s#3 | The reason of the refusal.
    messageExpression s#4 | The message as an expression.
  failurePolicy s#4 = "Fail" | What happens when a rule cannot be evaluated: Fail or Ignore.
  auditAnnotations []any | What is written to the audit log.
  matchConditions [name]@NamedExpression#6 | Conditions for the policy to be asked.
  variables [name]@NamedExpression#7 | Named parts of expressions.
status {!}#3 | What became of it.
  observedGeneration l#1 | The generation that this is about.
  typeChecking any | What is wrong with its expressions.
  conditions [type]@Condition#3 | Details.

# ValidatingAdmissionPolicyBinding Puts a policy in force.
spec {!}#2 | The binding.
  policyName s#1 | The policy.
  paramRef {~}@ParamRef#2 | Its parameters.
  matchResources @MatchResources#3 | Where it is in force.
  validationActions [=]s#4 | Deny, Warn or Audit.

# MutatingAdmissionPolicy Changes that writes get.
spec {!}#2 | The policy.
  paramKind {~}@ParamKind#1 | The kind of its parameters.
  matchConstraints @MatchResources#2 | What it is about.
  variables [name]@NamedExpression#3 | Named parts of expressions.
  mutations []{}#4 | The changes.
    patchType s#2 | ApplyConfiguration or JSONPatch.
    applyConfiguration any | A change in the form of an apply.
    jsonPatch any | A change as a JSON patch.
  failurePolicy s#5 = "Fail" | What happens when a change cannot be evaluated: Fail or Ignore.
  matchConditions [name]@NamedExpression#6 | Conditions for the policy to be asked.
  reinvocationPolicy s#7 | Never or IfNeeded.

# MutatingAdmissionPolicyBinding Puts a policy in force.
spec {!}#2 | The binding.
  policyName s#1 | The policy.
  paramRef {~}@ParamRef#2 | Its parameters.
  matchResources @MatchResources#3 | Where it is in force.

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
verbs []s#1 | The verbs or *.
apiGroups []s#2 | API groups or *.
resources []s#3 | Resources or *.
resourceNames []s#4 | Names of objects.
nonResourceURLs []s#5 | Paths.

# RoleRef The role that is granted.
apiGroup s#1 | Its group.
kind s#2 | Role or ClusterRole.
name s#3 | Its name.

# Subject Who a role is granted to.
kind s#1 | User, Group or ServiceAccount.
apiGroup s#2 | Its group.
name s#3 | Its name.
namespace s#4 | Its namespace.

# Role Rights in a namespace.
rules []@PolicyRule#2 | The rights.

# ClusterRole Rights everywhere, or for use in any namespace.
rules []@PolicyRule#2 | The rights.
aggregationRule any | Other roles whose rights it has.

# RoleBinding Grants a role in a namespace.
subjects []@Subject#2 | To whom.
roleRef {!~}@RoleRef#3 | What.

# ClusterRoleBinding Grants a role everywhere.
subjects []@Subject#2 | To whom.
roleRef {!~}@RoleRef#3 | What.

# Scale The size of a workload.
spec {!}#2 | What is wanted.
  replicas i#1 | How many.
status {!}#3 | What there is.
  replicas i#1 | How many.
  selector s#2 | Which pods.

# DeleteOptions How an object is deleted.
gracePeriodSeconds l#1 | How long it may take to end.
preconditions {}#2 | What must hold.
  uid s#1 | Its uid.
  resourceVersion s#2 | Its version.
orphanDependents b#3 | No longer used.
propagationPolicy s#4 | Orphan, Background or Foreground.
dryRun []s#5 | All: nothing is stored.

# ResourceAttributes What would be done to a resource.
namespace s#1 | Where.
verb s#2 | The verb or *.
group s#3 | The API group or *.
version s#4 | The version or *.
resource s#5 | The resource or *.
subresource s#6 | The subresource.
name s#7 | The object.

# NonResourceAttributes What would be done to a path.
path s#1 | The path.
verb s#2 | The verb.

# SelfSubjectAccessReview Asks whether the asker may do something.
spec {!}#2 | The question.
  resourceAttributes @ResourceAttributes#1 | About a resource.
  nonResourceAttributes @NonResourceAttributes#2 | About a path.
status {!}#3 | The answer.
  allowed b#1 | Whether it may.
  denied b#4 | Whether it must not.
  reason s#2 | Why.
  evaluationError s#3 | What went wrong.

# SubjectAccessReview Asks whether somebody may do something.
spec {!}#2 | The question.
  resourceAttributes @ResourceAttributes#1 | About a resource.
  nonResourceAttributes @NonResourceAttributes#2 | About a path.
  user s#3 | Who.
  groups []s#4 | The groups of who.
  uid s#6 | The uid of who.
status {!}#3 | The answer.
  allowed b#1 | Whether it may.
  denied b#4 | Whether it must not.
  reason s#2 | Why.
  evaluationError s#3 | What went wrong.

# SelfSubjectRulesReview Asks what the asker may do in a namespace.
spec {!}#2 | The question.
  namespace s#1 | The namespace.
status {!}#3 | The answer.
  resourceRules []any | On resources.
  nonResourceRules []any | On paths.
  incomplete b#3 | Whether there may be more.
  evaluationError s#4 | What went wrong.

# SelfSubjectReview Asks who the asker is.
status {!}#2 | The answer.
  userInfo {!}#1 | Who.
    username s#1 | The name.
    uid s#2 | The uid.
    groups []s#3 | The groups.
)";

}  // namespace sandbox
