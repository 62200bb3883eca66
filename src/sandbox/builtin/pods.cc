#include "sandbox/builtin/fields.h"

namespace sandbox {

const std::string_view pod_fields = R"(
# Handler What is done to a container.
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
sleep {} | Waits.
  seconds l | How long.

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
initialDelaySeconds i | How long after the start it begins.
timeoutSeconds i = 1 | How long an answer may take.
periodSeconds i = 10 | How often it is done.
successThreshold i = 1 | Successes in a row until it counts as well.
failureThreshold i = 3 | Failures in a row until it counts as failed.
terminationGracePeriodSeconds l | How long the container gets to end after a failure.

# Container A program in a pod.
name s | The container's name, unique in the pod.
image s | What it is made from.
command []s | The entry point, instead of the image's.
args []s | Its arguments, instead of the image's.
workingDir s | Where it starts.
ports [containerPort,protocol]{} | What it listens on; for information.
  name s | The port's name, unique in the pod.
  hostPort i | The port on the node.
  containerPort i | The port of the pod.
  protocol s = "TCP" | TCP, UDP or SCTP.
  hostIP s | The address on the node.
envFrom []any | Sources of environment variables.
env [name]{} | Environment variables.
  name s | The variable's name.
  value s | Its value.
  valueFrom {} | Where its value comes from.
    fieldRef {~} | A field of the pod.
      apiVersion s = "v1" | The version of the field.
      fieldPath s | The field.
    resourceFieldRef {~} | A resource of a container.
      containerName s | The container.
      resource s | The resource.
      divisor q | The unit.
    configMapKeyRef {~} | An entry of a ConfigMap.
      name s | The ConfigMap.
      key s | The entry.
      optional b | Whether it may be missing.
    secretKeyRef {~} | An entry of a Secret.
      name s | The Secret.
      key s | The entry.
      optional b | Whether it may be missing.
    fileKeyRef any | An entry of a file.
resources {!} | What it needs.
  limits {*}q | At most.
  requests {*}q | At least.
  claims [name]{} | Devices.
    name s | The claim of the pod.
    request s | The request in the claim.
resizePolicy []any | How resources may change while it runs.
restartPolicy s | Always: the container starts before the others and keeps running.
restartPolicyRules []any | When it is started again.
volumeMounts [mountPath]{} | Volumes and where they are in its file system.
  name s | The volume.
  readOnly b | Whether it can only be read.
  recursiveReadOnly s | Whether that goes for mounts below it.
  mountPath s | Where it is.
  subPath s | The part of it that is shown.
  subPathExpr s | The same with variables.
  mountPropagation s | How mounts spread.
volumeDevices [devicePath]{} | Block devices.
  name s | The volume claim.
  devicePath s | Where it is.
livenessProbe @Probe | When it fails, the container is started again.
readinessProbe @Probe | While it fails, no traffic comes.
startupProbe @Probe | Until it succeeds, the others wait.
lifecycle {} | What happens at its start and end.
  postStart @Handler | After the start.
  preStop @Handler | Before the end.
  stopSignal s | The signal that ends it.
terminationMessagePath s = "/dev/termination-log" | The file that says why it ended.
terminationMessagePolicy s = "File" | File or FallbackToLogsOnError.
imagePullPolicy s | Always, IfNotPresent or Never.
securityContext {} | What it may do.
  capabilities {} | Rights of root, one by one.
    add []s | Given.
    drop []s | Taken.
  privileged b | Whether it is root on the node.
  runAsUser l | The user.
  runAsGroup l | The group.
  runAsNonRoot b | Refuses to run as root.
  readOnlyRootFilesystem b | Whether its own file system can only be read.
  allowPrivilegeEscalation b | Whether a process may get more rights than its parent.
  procMount s | How /proc looks.
  seLinuxOptions any | SELinux labels.
  windowsOptions any | For Windows.
  seccompProfile {} | System calls.
    type s | RuntimeDefault, Localhost or Unconfined.
    localhostProfile s | The profile's file.
  appArmorProfile any | AppArmor.
stdin b | Whether standard input stays open.
stdinOnce b | Whether it is closed after the first session.
tty b | Whether there is a terminal.

# PodSpec What a pod should be.
volumes [name]{+} | File systems that containers can mount.
  name s | The volume's name.
  configMap any | Files from a ConfigMap.
  secret any | Files from a Secret.
  emptyDir any | An empty folder that lives as long as the pod.
  hostPath any | A folder of the node.
  projected any | Files from several sources.
  downwardAPI any | Files about the pod.
  persistentVolumeClaim any | A volume claim.
initContainers [name]@Container | Run one after the other before the rest.
containers [name]@Container | The programs.
ephemeralContainers [name]@Container | Added for looking into a running pod.
restartPolicy s = "Always" | Always, OnFailure or Never.
terminationGracePeriodSeconds l = 30 | How long it gets to end.
activeDeadlineSeconds l | How long it may run.
dnsPolicy s = "ClusterFirst" | How names are resolved.
nodeSelector {*~}s | Labels a node must have.
serviceAccountName s | Its identity.
serviceAccount s | The same; deprecated.
automountServiceAccountToken b | Whether it gets a token of its identity.
nodeName s | Where it runs.
hostNetwork b | Whether it shares the node's network.
hostPID b | Whether it sees the node's processes.
hostIPC b | Whether it shares the node's IPC.
hostUsers b | Whether its users are the node's.
shareProcessNamespace b | Whether containers see each other's processes.
securityContext {} = {} | What all containers may do.
  runAsUser l | The user.
  runAsGroup l | The group.
  runAsNonRoot b | Refuses to run as root.
  supplementalGroups []l | More groups.
  supplementalGroupsPolicy s | How groups of the image count.
  fsGroup l | The group of volumes.
  fsGroupChangePolicy s | When files change their group.
  seccompProfile {} | System calls.
    type s | RuntimeDefault, Localhost or Unconfined.
    localhostProfile s | The profile's file.
  seLinuxOptions any | SELinux labels.
  seLinuxChangePolicy s | How labels get to volumes.
  sysctls []any | Kernel settings.
  windowsOptions any | For Windows.
  appArmorProfile any | AppArmor.
imagePullSecrets [name]{~} | Secrets for pulling images.
  name s | The secret's name.
hostname s | Its host name.
subdomain s | The domain below the namespace's.
setHostnameAsFQDN b | Whether the host name is the full name.
hostnameOverride s | The host name, whatever else is said.
affinity any | Wishes about where it runs.
schedulerName s = "default-scheduler" | Who finds a node.
tolerations []{} | Taints of nodes it puts up with.
  key s | The taint's key.
  operator s | Equal or Exists.
  value s | The taint's value.
  effect s | NoSchedule, PreferNoSchedule or NoExecute.
  tolerationSeconds l | For how long.
hostAliases [ip]{} | Lines of /etc/hosts.
  ip s | The address.
  hostnames []s | Its names.
priorityClassName s | Its importance, by name.
priority i | Its importance.
preemptionPolicy s | Whether it may push others aside.
dnsConfig any | DNS settings.
readinessGates []any | More conditions for being ready.
runtimeClassName s | How containers are run.
enableServiceLinks b | Whether Services become environment variables.
overhead {*}q | Resources for running it at all.
topologySpreadConstraints []any | How pods spread.
os any | Its operating system.
schedulingGates [name]any | What must happen before a node is sought.
resourceClaims [name]any | Devices.
resources any | What all of it needs.

# PodTemplate The pods a workload makes.
metadata {!}@ObjectMeta | Their metadata.
spec {!}@PodSpec | What they should be.

# Pod Containers that run together.
spec {!}@PodSpec | What the pod should be.
status {!} | What it is.
  observedGeneration l | The generation that this is about.
  phase s | Pending, Running, Succeeded, Failed or Unknown.
  conditions [type]@Condition | Details.
  message s | Why, for people.
  reason s | Why, in one word.
  nominatedNodeName s | Where it will run once others have made room.
  hostIP s | The node's address.
  hostIPs []any | The node's addresses.
  podIP s | Its address.
  podIPs [ip]{} | Its addresses.
    ip s | An address.
  startTime t | When the node took it.
  initContainerStatuses []any | Init containers.
  containerStatuses []any | Containers.
  ephemeralContainerStatuses []any | Ephemeral containers.
  qosClass s | Guaranteed, Burstable or BestEffort.
  resize s | No longer used.
  resourceClaimStatuses []any | Devices.
)";

}  // namespace sandbox
