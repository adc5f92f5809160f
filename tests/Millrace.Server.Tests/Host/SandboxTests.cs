using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>What the executable gives up, and its whole life without it.</summary>
[SupportedOSPlatform("linux")]
public class SandboxTests
{
    [Fact]
    public async Task Every_thread_serves_as_the_user_who_was_asked_for_and_none_gets_rights_back()
    {
        Nobody.RequireRoot();
        using TempFolder folder = SiteForAll();
        await using ServerProcess server = await ServerProcess.StartAsync(
            folder.Root, "--listen", "127.0.0.1:0", "--user", Nobody.UserAndGroup, "--reactors", "2");
        Assert.Equal(200, Wire.Get(server.Url, "/text.txt").Status);
        Assert.All(Threads(server), static thread =>
        {
            Assert.All(thread.Users.Concat(thread.Groups).Concat(thread.Supplementary), static id => Assert.Equal(Nobody.Id, id));
            Assert.Equal(0UL, thread.Capabilities);
            Assert.True(thread.HasNoNewPrivileges);
        });

        // Later files are read as that user too; those that the user may not read are not served.
        File.WriteAllText(folder.PathOf("later.txt"), "later");
        await Wire.AwaitAsync(server.Url, "/later.txt", static response => response.Status == 200);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Contains("Serving as 65534:65534", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_the_user_may_not_read_is_not_served_although_root_started_it()
    {
        Nobody.RequireRoot();
        using TempFolder folder = SiteForAll();
        folder.Add("secret.txt", 10);
        File.SetUnixFileMode(folder.PathOf("secret.txt"), UnixFileMode.UserRead);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--user", Nobody.UserAndGroup);
        Assert.Equal(200, Wire.Get(server.Url, "/text.txt").Status);
        Assert.NotEqual(200, Wire.Get(server.Url, "/secret.txt").Status);
    }

    [Fact]
    public async Task A_key_that_only_root_reads_is_used_and_it_is_logged_that_it_cannot_be_read_again()
    {
        Nobody.RequireRoot();
        using TempFolder folder = SiteForAll();
        string[] certificate = OwnCertificate.Make(folder, "site", "localhost");
        File.SetUnixFileMode(certificate[^1], UnixFileMode.UserRead);
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--https", "127.0.0.1:0", "--user", Nobody.UserAndGroup, .. certificate]);
        using HttpClient client = OwnCertificate.Trusting();
        await client.GetStringAsync(new Uri(server.Url, "/text.txt"));
        server.Signal(PosixSignal.SIGHUP);
        await client.GetStringAsync(new Uri(server.Url, "/text.txt"));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Contains($"{certificate[^1]} cannot be read again", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("no-such-user", "'no-such-user' is not a known user")]
    [InlineData("0:no-such-group", "'no-such-group' is not a known group")]
    public async Task A_user_who_is_not_there_is_an_error(string user, string cause)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, Places.SampleSite, "--listen", "127.0.0.1:0", "--user", user);
        result.AssertRefused(2, $"millrace: {cause}");
    }

    [Fact]
    public async Task Without_root_nobody_becomes_somebody_else_and_that_is_said()
    {
        Nobody.RequireRoot();
        Tool.Require("setpriv");
        ToolResult result = await Tool.RunAsync(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            Publication.Program, Places.SampleSite, "--listen", "127.0.0.1:0", "--user", "1");
        result.AssertRefused(1, "millrace: The process cannot become '1': only root can.");
    }

    [Fact]
    public async Task Root_that_stays_root_is_no_way_to_give_rights_up()
    {
        Nobody.RequireRoot();
        ToolResult result = await Tool.RunAsync(Publication.Program, Places.SampleSite, "--listen", "127.0.0.1:0", "--user", "0");
        result.AssertRefused(2, "millrace: --user 0 gives up no rights: name a user other than root");
    }

    [Fact]
    public async Task The_whole_life_of_a_server_passes_the_filter()
    {
        using TempFolder folder = SiteForAll();
        using var keys = new TempFolder();
        File.WriteAllText(folder.PathOf("long.txt"), string.Concat(Enumerable.Repeat("all work and no play\n", 1000)));
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--https", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--seccomp", "on", "--compress", "on",
                "--reactors", "2", .. OwnCertificate.Make(keys, "site", "localhost")]);
        Assert.All(Threads(server), static thread => Assert.True(thread.IsFiltered && thread.HasNoNewPrivileges));

        using HttpClient client = OwnCertificate.Trusting();
        await client.GetStringAsync(new Uri(server.Url, "/text.txt"));
        var plain = new Uri(server.Addresses[1]);
        await AwaitCodedAsync(plain);
        File.WriteAllText(folder.PathOf("later.txt"), "later");
        await Wire.AwaitAsync(plain, "/later.txt", static response => response.Status == 200);
        server.Signal(PosixSignal.SIGHUP);
        await client.GetStringAsync(new Uri(server.Url, "/later.txt"));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        string said = await server.ErrorAsync();
        Assert.DoesNotContain("warn:", said, StringComparison.Ordinal);
        Assert.DoesNotContain("fail:", said, StringComparison.Ordinal);
    }

    [Fact]
    public void What_the_kernel_says_of_a_thread_is_understood()
    {
        var nobody = new ServiceUser("nobody", Nobody.Id, Nobody.Id, [Nobody.Id]);
        const string Status = "Name:\ta: b\nUid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\nGroups:\t65534 \n"
            + "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
        ThreadRights good = ThreadRights.Parse(Status);
        Assert.True(good.IsOnly(nobody));
        Assert.True(good.IsFiltered);
        foreach ((string from, string to) in (ReadOnlySpan<(string, string)>)
            [
                ("Uid:\t65534\t65534", "Uid:\t65534\t0"), ("Gid:\t65534", "Gid:\t0"), ("Groups:\t65534", "Groups:\t0"),
                ("CapPrm:\t0", "CapPrm:\t1"), ("CapEff:\t0", "CapEff:\t1"), ("CapAmb:\t0", "CapAmb:\t1"),
                ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ])
        {
            Assert.False(ThreadRights.Parse(Status.Replace(from, to, StringComparison.Ordinal)).IsOnly(nobody), from);
        }
    }

    private static async Task AwaitCodedAsync(Uri server)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        while (Wire.Get(server, "/long.txt", "Accept-Encoding: br").Field("Content-Encoding") != "br")
        {
            await Task.Delay(10, deadline.Token);
        }
    }

    private static IReadOnlyList<ThreadRights> Threads(ServerProcess server) =>
        [.. ThreadStatus.OfEach(server).Select(ThreadRights.Parse)];

    private static TempFolder SiteForAll()
    {
        var folder = new TempFolder();
        File.SetUnixFileMode(folder.Root, Nobody.ForAll);
        folder.Add("text.txt", 100);
        return folder;
    }
}
