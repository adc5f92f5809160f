using System.Text.Json.Nodes;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The container where the runtime's own profile forbids io_uring, and with the arguments it has on Kubernetes.</summary>
[Trait("Duration", "Long")]
public class ContainerTests(ContainerImage image) : IClassFixture<ContainerImage>
{
    [Fact]
    public async Task Without_the_profile_it_serves_on_epoll_and_says_so()
    {
        await image.RequireAsync();

        await ContainerImage.StartAsync(Places.SampleSite);

        string log = await ContainerImage.LogOnceHealthyAsync();
        Assert.Contains("on epoll", log, StringComparison.Ordinal);
        Assert.Contains("seccomp", log, StringComparison.OrdinalIgnoreCase);
        Assert.Equal("0", await ContainerImage.StopAsync());
    }

    [Fact]
    public async Task It_takes_the_arguments_of_the_deployment_and_answers_its_probes()
    {
        IReadOnlyDictionary<string, JsonObject> manifests = await KubernetesTests.RenderAsync();
        await image.RequireAsync();

        await ContainerImage.StartAsync(Places.SampleSite, KubernetesTests.Arguments(manifests));

        Assert.Contains("Serving site", await ContainerImage.LogOnceHealthyAsync(), StringComparison.Ordinal);
        foreach (string url in KubernetesTests.ProbeUrls(manifests))
        {
            Assert.Contains("responded with status 200", await ContainerImage.ExecAsync("/usr/bin/millrace", "probe", url), StringComparison.Ordinal);
        }

        Assert.Equal("0", await ContainerImage.StopAsync());
    }

    [Fact]
    public async Task It_runs_as_nobody_with_a_name_and_can_write_nothing()
    {
        await image.RequireAsync();

        await ContainerImage.StartAsync(Places.SampleSite);
        await ContainerImage.LogOnceHealthyAsync();

        Assert.Equal("65532:65532\n", await ContainerImage.ExecAsync("sh", "-c", "echo $(id -u):$(id -g)"));
        Assert.Equal("refused\n", await ContainerImage.ExecAsync("sh", "-c", "touch /usr/bin/x /site/x 2>/dev/null || echo refused"));
    }
}
