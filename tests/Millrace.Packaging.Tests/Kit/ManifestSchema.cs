using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Millrace.Packaging.Tests;

/// <summary>
/// Which fields the manifests may have, and of what form: those of Kubernetes' API that are used here, and no others. A field that is misspelt
/// is dropped by a server without a word.
/// </summary>
internal static class ManifestSchema
{
    private const string Label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
    private const string LabelValue = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
    private const string Number = "[0-9]+";
    private const string Truth = "true|false";
    private const string Path = "/[A-Za-z0-9._/-]*";
    private const string Quantity = "[0-9]+(m|Ki|Mi|Gi)?";

    private const string Pod = "spec/template/spec/";
    private const string Container = Pod + "containers/[]/";

    private static readonly Dictionary<string, Dictionary<string, string>> Kinds = new()
    {
        ["Deployment"] = new()
        {
            ["apiVersion"] = "apps/v1",
            ["spec/selector/matchLabels/*"] = LabelValue,
            ["spec/strategy/rollingUpdate/maxSurge"] = Number,
            ["spec/strategy/rollingUpdate/maxUnavailable"] = Number,
            ["spec/template/metadata/labels/*"] = LabelValue,
            [Pod + "automountServiceAccountToken"] = Truth,
            [Pod + "enableServiceLinks"] = Truth,
            [Pod + "terminationGracePeriodSeconds"] = Number,
            [Pod + "securityContext/runAsNonRoot"] = Truth,
            [Pod + "securityContext/runAsUser"] = Number,
            [Pod + "securityContext/runAsGroup"] = Number,
            [Pod + "securityContext/seccompProfile/type"] = "Localhost|RuntimeDefault|Unconfined",
            [Pod + "securityContext/seccompProfile/localhostProfile"] = "[A-Za-z0-9._-][A-Za-z0-9._/-]*",
            [Pod + "topologySpreadConstraints/[]/maxSkew"] = Number,
            [Pod + "topologySpreadConstraints/[]/topologyKey"] = "kubernetes.io/hostname",
            [Pod + "topologySpreadConstraints/[]/whenUnsatisfiable"] = "ScheduleAnyway|DoNotSchedule",
            [Pod + "topologySpreadConstraints/[]/labelSelector/matchLabels/*"] = LabelValue,
            [Pod + "volumes/[]/name"] = Label,
            [Pod + "volumes/[]/persistentVolumeClaim/claimName"] = Label,
            [Pod + "volumes/[]/persistentVolumeClaim/readOnly"] = Truth,
            [Container + "name"] = Label,
            [Container + "image"] = @"[a-z0-9./:-]+",
            [Container + "args/[]"] = ".+",
            [Container + "ports/[]/name"] = "[a-z0-9-]{1,15}",
            [Container + "ports/[]/containerPort"] = Number,
            [Container + "startupProbe/httpGet/path"] = Path,
            [Container + "startupProbe/httpGet/port"] = Label,
            [Container + "startupProbe/periodSeconds"] = Number,
            [Container + "startupProbe/failureThreshold"] = Number,
            [Container + "readinessProbe/httpGet/path"] = Path,
            [Container + "readinessProbe/httpGet/port"] = Label,
            [Container + "readinessProbe/periodSeconds"] = Number,
            [Container + "readinessProbe/timeoutSeconds"] = Number,
            [Container + "readinessProbe/failureThreshold"] = Number,
            [Container + "livenessProbe/httpGet/path"] = Path,
            [Container + "livenessProbe/httpGet/port"] = Label,
            [Container + "livenessProbe/periodSeconds"] = Number,
            [Container + "livenessProbe/timeoutSeconds"] = Number,
            [Container + "livenessProbe/failureThreshold"] = Number,
            [Container + "lifecycle/preStop/sleep/seconds"] = Number,
            [Container + "resources/requests/cpu"] = Quantity,
            [Container + "resources/requests/memory"] = Quantity,
            [Container + "resources/limits/memory"] = Quantity,
            [Container + "securityContext/allowPrivilegeEscalation"] = Truth,
            [Container + "securityContext/readOnlyRootFilesystem"] = Truth,
            [Container + "securityContext/capabilities/drop/[]"] = "ALL",
            [Container + "volumeMounts/[]/name"] = Label,
            [Container + "volumeMounts/[]/mountPath"] = Path,
            [Container + "volumeMounts/[]/readOnly"] = Truth,
        },
        ["Service"] = new()
        {
            ["apiVersion"] = "v1",
            ["spec/selector/*"] = LabelValue,
            ["spec/ports/[]/name"] = Label,
            ["spec/ports/[]/port"] = Number,
            ["spec/ports/[]/targetPort"] = Label,
        },
        ["HorizontalPodAutoscaler"] = new()
        {
            ["apiVersion"] = "autoscaling/v2",
            ["spec/scaleTargetRef/apiVersion"] = "apps/v1",
            ["spec/scaleTargetRef/kind"] = "Deployment",
            ["spec/scaleTargetRef/name"] = Label,
            ["spec/minReplicas"] = Number,
            ["spec/maxReplicas"] = Number,
            ["spec/metrics/[]/type"] = "Resource",
            ["spec/metrics/[]/resource/name"] = "cpu|memory",
            ["spec/metrics/[]/resource/target/type"] = "Utilization",
            ["spec/metrics/[]/resource/target/averageUtilization"] = Number,
        },
        ["PodDisruptionBudget"] = new()
        {
            ["apiVersion"] = "policy/v1",
            ["spec/maxUnavailable"] = Number,
            ["spec/selector/matchLabels/*"] = LabelValue,
        },
    };

    private static readonly Dictionary<string, string> OfAll = new()
    {
        ["kind"] = string.Join('|', Kinds.Keys),
        ["metadata/name"] = Label,
        ["metadata/labels/*"] = LabelValue,
    };

    /// <summary>What an object has that it may not.</summary>
    public static IEnumerable<string> Findings(JsonObject manifest)
    {
        Dictionary<string, string> fields = Kinds[(string)manifest["kind"]!];
        foreach ((string path, JsonValue value) in Leaves("", manifest))
        {
            if (!fields.TryGetValue(path, out string? form) && !OfAll.TryGetValue(path, out form))
            {
                yield return $"{path} is not a field";
            }
            else if (!Fits(value, form))
            {
                yield return $"{path} must not be {value.ToJsonString()}";
            }
        }
    }

    /// <summary>Numbers and truths have to be written as such: "8080" in quotes is a name.</summary>
    private static bool Fits(JsonValue value, string form) =>
        Regex.IsMatch(value.ToString(), $"^({form})$", RegexOptions.IgnoreCase)
        && (form is Number, form is Truth, value.GetValueKind()) is
            (true, _, JsonValueKind.Number) or (_, true, JsonValueKind.True or JsonValueKind.False) or (false, false, JsonValueKind.String);

    private static IEnumerable<(string Path, JsonValue Value)> Leaves(string path, JsonNode node) => node switch
    {
        JsonObject mapping => mapping.SelectMany(entry => Leaves(Join(path, entry.Key.Contains('.') ? "*" : entry.Key), entry.Value!)),
        JsonArray list => list.SelectMany(item => Leaves(Join(path, "[]"), item!)),
        _ => [(path, (JsonValue)node)],
    };

    private static string Join(string path, string name) => path.Length == 0 ? name : $"{path}/{name}";
}
