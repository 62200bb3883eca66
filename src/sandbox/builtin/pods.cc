#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view pod_fields = R"(
# Handler What is done to a container.
exec {}#1 | Runs a command in it.
  command []s#1 | The command and its arguments.
httpGet {}#2 | Asks it by HTTP.
  path s#1 | The path.
  port x#2 | The port, by number or name.
  host s#3 | The host, if not the pod.
  scheme s#4 = "HTTP" | HTTP or HTTPS.
  httpHeaders []any | Headers.
tcpSocket {}#3 | Opens a connection.
  port x#1 | The port, by number or name.
  host s#2 | The host, if not the pod.
grpc {} | Asks the health service of gRPC.
  port i | The port.
  service s = "" | The service that is asked about.
sleep {}#4 | Waits.
  seconds l#1 | How long.

# Probe A check of a container.
exec {} | Runs a command in it.
  command []s | The command and its arguments.
httpGet {} | Asks it by HTTP.
  path s | The path.
  port x | The port, by number or name.
  host s | The host, if not the pod.
  scheme s = "HTTP" | HTTP or HTTPS.
  httpHeaders []any | Headers.
tcpSocket {} | Opens a connection.
  port x | The port, by number or name.
  host s | The host, if not the pod.
grpc {} | Asks the health service of gRPC.
  port i | The port.
  service s = "" | The service that is asked about.
initialDelaySeconds i#2 | How long after the start it begins.
timeoutSeconds i#3 = 1 | How long an answer may take.
periodSeconds i#4 = 10 | How often it is done.
successThreshold i#5 = 1 | Successes in a row until it counts as well.
failureThreshold i#6 = 3 | Failures in a row until it counts as failed.
terminationGracePeriodSeconds l#7 | How long the container gets to end after a failure.

# Container A program in a pod.
name s#1 | The container's name, unique in the pod.
image s#2 | What it is made from.
command []s#3 | The entry point, instead of the image's.
args []s#4 | Its arguments, instead of the image's.
workingDir s#5 | Where it starts.
ports [containerPort,protocol]{}#6 | What it listens on; for information.
  name s#1 | The port's name, unique in the pod.
  hostPort i#2 | The port on the node.
  containerPort i#3 | The port of the pod.
  protocol s#4 = "TCP" | TCP, UDP or SCTP.
  hostIP s#5 | The address on the node.
envFrom []any | Sources of environment variables.
env [name]{}#7 | Environment variables.
  name s#1 | The variable's name.
  value s#2 | Its value.
  valueFrom {}#3 | Where its value comes from.
    fieldRef {~}#1 | A field of the pod.
      apiVersion s#1 = "v1" | The version of the field.
      fieldPath s#2 | The field.
    resourceFieldRef {~}#2 | A resource of a container.
      containerName s#1 | The container.
      resource s#2 | The resource.
      divisor q#3 | The unit.
    configMapKeyRef {~}#3 | An entry of a ConfigMap.
      name s | The ConfigMap.
      key s#2 | The entry.
      optional b#3 | Whether it may be missing.
    secretKeyRef {~}#4 | An entry of a Secret.
      name s | The Secret.
      key s#2 | The entry.
      optional b#3 | Whether it may be missing.
    fileKeyRef any | An entry of a file.
resources {!}#8 | What it needs.
  limits {*}q#1 | At most.
  requests {*}q#2 | At least.
  claims [name]{}#3 | Devices.
    name s#1 | The claim of the pod.
    request s#2 | The request in the claim.
resizePolicy []any | How resources may change while it runs.
restartPolicy s#24 | Always: the container starts before the others and keeps running.
restartPolicyRules []any | When it is started again.
volumeMounts [mountPath]{}#9 | Volumes and where they are in its file system.
  name s#1 | The volume.
  readOnly b#2 | Whether it can only be read.
  recursiveReadOnly s#7 | Whether that goes for mounts below it.
  mountPath s#3 | Where it is.
  subPath s#4 | The part of it that is shown.
  subPathExpr s#6 | The same with variables.
  mountPropagation s#5 | How mounts spread.
volumeDevices [devicePath]{}#21 | Block devices.
  name s#1 | The volume claim.
  devicePath s#2 | Where it is.
livenessProbe @Probe#10 | When it fails, the container is started again.
readinessProbe @Probe#11 | While it fails, no traffic comes.
startupProbe @Probe#22 | Until it succeeds, the others wait.
lifecycle {}#12 | What happens at its start and end.
  postStart @Handler#1 | After the start.
  preStop @Handler#2 | Before the end.
  stopSignal s#3 | The signal that ends it.
terminationMessagePath s#13 = "/dev/termination-log" | The file that says why it ended.
terminationMessagePolicy s#20 = "File" | File or FallbackToLogsOnError.
imagePullPolicy s#14 | Always, IfNotPresent or Never.
securityContext {}#15 | What it may do.
  capabilities {}#1 | Rights of root, one by one.
    add []s#1 | Given.
    drop []s#2 | Taken.
  privileged b#2 | Whether it is root on the node.
  runAsUser l#4 | The user.
  runAsGroup l#8 | The group.
  runAsNonRoot b#5 | Refuses to run as root.
  readOnlyRootFilesystem b#6 | Whether its own file system can only be read.
  allowPrivilegeEscalation b#7 | Whether a process may get more rights than its parent.
  procMount s#9 | How /proc looks.
  seLinuxOptions any | SELinux labels.
  windowsOptions any | For Windows.
  seccompProfile {}#11 | System calls.
    type s#1 | RuntimeDefault, Localhost or Unconfined.
    localhostProfile s#2 | The profile's file.
  appArmorProfile any | AppArmor.
stdin b#16 | Whether standard input stays open.
stdinOnce b#17 | Whether it is closed after the first session.
tty b#18 | Whether there is a terminal.

# PodSpec What a pod should be.
volumes [name]{+}#1 | File systems that containers can mount.
  name s#1 | The volume's name.
  configMap any | Files from a ConfigMap.
  secret any | Files from a Secret.
  emptyDir any | An empty folder that lives as long as the pod.
  hostPath any | A folder of the node.
  projected any | Files from several sources.
  downwardAPI any | Files about the pod.
  persistentVolumeClaim any | A volume claim.
initContainers [name]@Container#20 | Run one after the other before the rest.
containers [name]!@Container#2 | The programs.
ephemeralContainers [name]@Container#34 | Added for looking into a running pod.
restartPolicy s#3 = "Always" | Always, OnFailure or Never.
terminationGracePeriodSeconds l#4 = 30 | How long it gets to end.
activeDeadlineSeconds l#5 | How long it may run.
dnsPolicy s#6 = "ClusterFirst" | How names are resolved.
nodeSelector {*~}s#7 | Labels a node must have.
serviceAccountName s#8 | Its identity.
serviceAccount s#9 | The same; deprecated.
automountServiceAccountToken b#21 | Whether it gets a token of its identity.
nodeName s#10 | Where it runs.
hostNetwork b#11 | Whether it shares the node's network.
hostPID b#12 | Whether it sees the node's processes.
hostIPC b#13 | Whether it shares the node's IPC.
hostUsers b#37 | Whether its users are the node's.
shareProcessNamespace b#27 | Whether containers see each other's processes.
securityContext {}#14 = {} | What all containers may do.
  runAsUser l#2 | The user.
  runAsGroup l#6 | The group.
  runAsNonRoot b#3 | Refuses to run as root.
  supplementalGroups []l#4 | More groups.
  supplementalGroupsPolicy s#12 | How groups of the image count.
  fsGroup l#5 | The group of volumes.
  fsGroupChangePolicy s#9 | When files change their group.
  seccompProfile {}#10 | System calls.
    type s#1 | RuntimeDefault, Localhost or Unconfined.
    localhostProfile s#2 | The profile's file.
  seLinuxOptions any | SELinux labels.
  seLinuxChangePolicy s#13 | How labels get to volumes.
  sysctls []any | Kernel settings.
  windowsOptions any | For Windows.
  appArmorProfile any | AppArmor.
imagePullSecrets [name]{~}#15 | Secrets for pulling images.
  name s#1 | The secret's name.
hostname s#16 | Its host name.
subdomain s#17 | The domain below the namespace's.
setHostnameAsFQDN b#35 | Whether the host name is the full name.
hostnameOverride s#41 | The host name, whatever else is said.
affinity any | Wishes about where it runs.
schedulerName s#19 = "default-scheduler" | Who finds a node.
tolerations []{}#22 | Taints of nodes it puts up with.
  key s#1 | The taint's key.
  operator s#2 | Equal or Exists.
  value s#3 | The taint's value.
  effect s#4 | NoSchedule, PreferNoSchedule or NoExecute.
  tolerationSeconds l#5 | For how long.
hostAliases [ip]{}#23 | Lines of /etc/hosts.
  ip s#1 | The address.
  hostnames []s#2 | Its names.
priorityClassName s#24 | Its importance, by name.
priority i#25 | Its importance.
preemptionPolicy s#31 | Whether it may push others aside.
dnsConfig any | DNS settings.
readinessGates []any | More conditions for being ready.
runtimeClassName s#29 | How containers are run.
enableServiceLinks b#30 | Whether Services become environment variables.
overhead {*}q#32 | Resources for running it at all.
topologySpreadConstraints []any | How pods spread.
os any | Its operating system.
schedulingGates [name]any | What must happen before a node is sought.
resourceClaims [name]any | Devices.
resources any | What all of it needs.

# PodTemplate The pods a workload makes.
metadata {!}@ObjectMeta#1 | Their metadata.
spec {!}@PodSpec#2 | What they should be.

# Pod Containers that run together.
spec {!}@PodSpec#2 | What the pod should be.
status {!}#3 | What it is.
  observedGeneration l#17 | The generation that this is about.
  phase s#1 | Pending, Running, Succeeded, Failed or Unknown.
  conditions [type]@Condition#2 | Details.
  message s#3 | Why, for people.
  reason s#4 | Why, in one word.
  nominatedNodeName s#11 | Where it will run once others have made room.
  hostIP s#5 | The node's address.
  hostIPs []any | The node's addresses.
  podIP s#6 | Its address.
  podIPs [ip]{}#12 | Its addresses.
    ip s#1 | An address.
  startTime t#7 | When the node took it.
  initContainerStatuses []any | Init containers.
  containerStatuses []any | Containers.
  ephemeralContainerStatuses []any | Ephemeral containers.
  qosClass s#9 | Guaranteed, Burstable or BestEffort.
  resize s#14 | No longer used.
  resourceClaimStatuses []any | Devices.
)";

}  // namespace sandbox
