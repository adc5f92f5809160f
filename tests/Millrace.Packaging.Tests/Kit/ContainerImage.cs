using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>An image of the published file, and containers of it that end with the tests. They have no network but their own loopback.</summary>
public sealed class ContainerImage : IAsyncLifetime
{
    private const string Name = "localhost/millrace-test-image";
    private const string Container = "millrace-test-container";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(4);

    private bool _isMade;

    public ValueTask InitializeAsync() => default;

    /// <summary>Made by the first test that asks: only a test may be skipped, not a fixture.</summary>
    internal async Task RequireAsync()
    {
        await DebianBase.RequireAsync();
        Array.ForEach(["podman", "runc"], Tool.Require);
        if (!_isMade)
        {
            await Publication.ReadyAsync();
            await Tool.RunToSuccessAsync(
                Deadline,
                "buildah", "build", "--format", "docker", "--build-arg", $"BASE={DebianBase.Image}", "-t", Name,
                "-f", Path.Combine(Places.Repository, "deploy", "container", "Containerfile"), Path.GetDirectoryName(Publication.Program)!);
            _isMade = true;
        }
    }

    /// <summary>Starts the container; the machine's rights may not suffice for limits above its own.</summary>
    internal static async Task StartAsync(string site, params string[] arguments)
    {
        await RemoveAsync();
        await PodmanAsync(
        [
            "run", "--detach", "--name", Container, "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--network", "none",
            "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--volume", $"{site}:/site:ro", Name, .. arguments,
        ]);
    }

    /// <summary>Asks the health check of the image until it is content, and gives what the server said.</summary>
    internal static async Task<string> LogOnceHealthyAsync()
    {
        using var end = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        while ((await Tool.RunAsync(Deadline, "podman", "--runtime", "runc", "healthcheck", "run", Container)).ExitCode != 0)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(200), end.Token);
        }

        ToolResult log = await Tool.RunAsync(Deadline, "podman", "--runtime", "runc", "logs", Container);
        return log.Output + log.Error;
    }

    internal static Task<string> ExecAsync(params string[] command) => PodmanAsync(["exec", Container, .. command]);

    /// <summary>Stops it, and gives its exit status.</summary>
    internal static async Task<string> StopAsync()
    {
        await PodmanAsync(["stop", "--time", "30", Container]);
        return (await PodmanAsync(["inspect", "--format", "{{.State.ExitCode}}", Container])).Trim();
    }

    public async ValueTask DisposeAsync()
    {
        if (_isMade)
        {
            await RemoveAsync();
            await Tool.RunToSuccessAsync(Deadline, "buildah", "rmi", Name);
        }
    }

    private static Task<string> RemoveAsync() => PodmanAsync(["rm", "--force", "--ignore", "--time", "0", Container]);

    private static Task<string> PodmanAsync(string[] arguments) => Tool.RunToSuccessAsync(Deadline, "podman", ["--runtime", "runc", .. arguments]);
}
