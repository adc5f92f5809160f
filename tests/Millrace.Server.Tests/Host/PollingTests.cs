using System.Globalization;
using System.Runtime.Versioning;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>Reactors that are pinned and have their operations polled for, in a server that gives up all it can.</summary>
[SupportedOSPlatform("linux")]
[Trait("Backend", "io_uring")]
public class PollingTests
{
    private static readonly string[] Polling = ["--backend", "io_uring", "--submission-polling", "20", "--reactors", "2", "--pin-reactors"];

    [Theory]
    [InlineData("off", 2)]
    [InlineData("on", 1)]
    public async Task Both_serve_under_the_filter_of_calls(string isShared, int pollers)
    {
        using TempFolder folder = ServedFolder.Make();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--seccomp", "on", "--shared-submission-polling", isShared, .. Polling]);
        await ServeAsync(server, folder, pollers);
        Assert.Equal(pollers, Threads(server).Count(static thread => thread.IsPoller));

        string[] cores = [.. Threads(server).Where(static thread => thread.Name is "millrace-0" or "millrace-1")
            .Select(static thread => thread.Cores)];
        Assert.Equal(2, cores.Length);
        Assert.All(cores, static core => Assert.True(int.TryParse(core, CultureInfo.InvariantCulture, out _), core));
        Assert.Equal(Math.Min(2, Environment.ProcessorCount), cores.Distinct().Count());
        await ServedFolder.AssertEndsWellAsync(server);
    }

    [Fact]
    public async Task The_threads_of_the_kernel_have_the_rights_of_the_user_who_serves()
    {
        Nobody.RequireRoot();
        using TempFolder folder = ServedFolder.Make();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--user", Nobody.UserAndGroup, "--seccomp", "on", .. Polling]);
        await ServeAsync(server, folder, pollers: 2);
        Assert.All(Threads(server), static thread =>
        {
            Assert.All(thread.Rights.Users.Concat(thread.Rights.Groups), static id => Assert.Equal(Nobody.Id, id));
            Assert.Equal(0UL, thread.Rights.Capabilities);
        });
        await ServedFolder.AssertEndsWellAsync(server);
    }

    /// <summary>From memory and in chunks, and again when the pollers have run, by which they get their name, and fallen asleep.</summary>
    private static async Task ServeAsync(ServerProcess server, TempFolder folder, int pollers)
    {
        ServedFolder.AssertServed(server, folder);
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        while (Threads(server).Count(static thread => thread is { IsPoller: true, IsAsleep: true }) < pollers)
        {
            await Task.Delay(5, deadline.Token);
        }

        ServedFolder.AssertServed(server, folder);
    }

    private static IReadOnlyList<Seen> Threads(ServerProcess server) =>
        [.. ThreadStatus.OfEach(server).Select(static status => new Seen(status))];

    private sealed record Seen(string Status)
    {
        public string Name => Field("Name:");

        public string Cores => Field("Cpus_allowed_list:");

        public ThreadRights Rights => ThreadRights.Parse(Status);

        public bool IsPoller => Name.StartsWith("iou-sqp-", StringComparison.Ordinal);

        public bool IsAsleep => Field("State:").StartsWith('S');

        private string Field(string name) =>
            Status.Split('\n').Single(line => line.StartsWith(name, StringComparison.Ordinal))[name.Length..].Trim();
    }
}
