using System.Text.Json.Nodes;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The manifests as kubectl renders them.</summary>
public class KubernetesTests
{
    private static readonly string[] Probes = ["startupProbe", "readinessProbe", "livenessProbe"];

    private static readonly string Folder = Path.Combine(Places.Repository, "deploy", "kubernetes");

    [Fact]
    public async Task Every_field_is_one_of_the_api()
    {
        IReadOnlyDictionary<string, JsonObject> manifests = await RenderAsync();

        Assert.Equal(["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"], manifests.Keys.Order(StringComparer.Ordinal));
        Assert.All(manifests.Values, static manifest => Assert.Empty(ManifestSchema.Findings(manifest)));
    }

    [Theory]
    [InlineData("spec/template/spec/terminationGracePeriod", "35")]
    [InlineData("spec/template/spec/terminationGracePeriodSeconds", "\"35\"")]
    [InlineData("spec/template/spec/automountServiceAccountToken", "\"no\"")]
    [InlineData("spec/template/spec/securityContext/seccompProfile/type", "\"Localhosts\"")]
    public async Task A_field_that_is_misspelt_or_of_another_type_is_found(string path, string value)
    {
        JsonObject deployment = (await RenderAsync())["Deployment"];
        string[] names = path.Split('/');
        names[..^1].Aggregate((JsonNode)deployment, static (node, name) => node[name]!)[names[^1]] = JsonNode.Parse(value);

        Assert.StartsWith(path, Assert.Single(ManifestSchema.Findings(deployment)), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("kind: A\nspec: {}\n")]
    [InlineData("kind: A\nspec: |\n  text\n")]
    [InlineData("kind: A\nspec:\n")]
    [InlineData("kind: A\n  deeper: 1\n")]
    [InlineData("kind: A\nwords alone\n")]
    public void What_kustomize_does_not_print_is_refused(string text) =>
        Assert.Throws<FormatException>(() => Manifests.Read(text));

    [Fact]
    public async Task The_objects_find_each_other()
    {
        IReadOnlyDictionary<string, JsonObject> manifests = await RenderAsync();
        JsonNode deployment = manifests["Deployment"]["spec"]!;
        string labels = deployment["template"]!["metadata"]!["labels"]!.ToJsonString();

        Assert.Equal(labels, deployment["selector"]!["matchLabels"]!.ToJsonString());
        Assert.Equal(labels, manifests["Service"]["spec"]!["selector"]!.ToJsonString());
        Assert.Equal(labels, manifests["PodDisruptionBudget"]["spec"]!["selector"]!["matchLabels"]!.ToJsonString());
        Assert.Equal(
            (string)manifests["Deployment"]["metadata"]!["name"]!,
            (string)manifests["HorizontalPodAutoscaler"]["spec"]!["scaleTargetRef"]!["name"]!);

        JsonNode container = Container(manifests);
        string port = (string)container["ports"]![0]!["name"]!;
        Assert.Equal(port, (string)manifests["Service"]["spec"]!["ports"]![0]!["targetPort"]!);
        string admin = (string)container["ports"]![1]!["name"]!;
        Assert.All(Probes, probe => Assert.Equal(admin, (string)container[probe]!["httpGet"]!["port"]!));
        Assert.Equal((string)Template(manifests)["volumes"]![0]!["name"]!, (string)container["volumeMounts"]![0]!["name"]!);
        Assert.NotNull(container["resources"]!["requests"]!["cpu"]); // of which the autoscaler's percentage is
    }

    [Fact]
    public async Task What_is_under_way_gets_its_time_before_the_container_is_killed()
    {
        IReadOnlyDictionary<string, JsonObject> manifests = await RenderAsync();
        string[] arguments = Arguments(manifests);

        int drain = int.Parse(arguments[Array.IndexOf(arguments, "--drain") + 1]);
        int pause = (int)Container(manifests)["lifecycle"]!["preStop"]!["sleep"]!["seconds"]!;

        Assert.True(pause + drain < (int)Template(manifests)["terminationGracePeriodSeconds"]!);
    }

    [Fact]
    public async Task It_may_write_nowhere_and_become_nobody_else()
    {
        IReadOnlyDictionary<string, JsonObject> manifests = await RenderAsync();
        JsonNode container = Container(manifests);

        Assert.True((bool)Template(manifests)["securityContext"]!["runAsNonRoot"]!);
        Assert.True((bool)container["securityContext"]!["readOnlyRootFilesystem"]!);
        Assert.False((bool)container["securityContext"]!["allowPrivilegeEscalation"]!);
        Assert.True((bool)container["volumeMounts"]![0]!["readOnly"]!);
    }

    /// <summary>What the probes ask for, as URLs within the container.</summary>
    internal static IEnumerable<string> ProbeUrls(IReadOnlyDictionary<string, JsonObject> manifests) => Probes.Select(probe =>
        $"http://127.0.0.1:{(int)Container(manifests)["ports"]![1]!["containerPort"]!}{Container(manifests)[probe]!["httpGet"]!["path"]!}");

    /// <summary>The arguments of the container.</summary>
    internal static string[] Arguments(IReadOnlyDictionary<string, JsonObject> manifests) =>
        [.. Container(manifests)["args"]!.AsArray().Select(static argument => (string)argument!)];

    internal static async Task<IReadOnlyDictionary<string, JsonObject>> RenderAsync()
    {
        Tool.Require("kubectl");
        return Manifests.Read(await Tool.RunToSuccessAsync(TimeSpan.FromMinutes(1), "kubectl", "kustomize", Folder));
    }

    private static JsonNode Template(IReadOnlyDictionary<string, JsonObject> manifests) => manifests["Deployment"]["spec"]!["template"]!["spec"]!;

    private static JsonNode Container(IReadOnlyDictionary<string, JsonObject> manifests) => Template(manifests)["containers"]![0]!;
}
