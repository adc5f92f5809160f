using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Service;

/// <summary><c>--busy-poll</c>, in a server that gives up all it can, and what is said where it cannot be had.</summary>
[SupportedOSPlatform("linux")]
public class BusyPollTests
{
    /// <summary>It may read what root may, wherever this is run.</summary>
    private static readonly string[] NoAdministrator =
    [
        "--reuid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search,+dac_override",
        "--ambient-caps=-all,+dac_read_search,+dac_override", Publication.Program,
    ];

    private static readonly string[] Preferring = ["--busy-poll", "50", "--prefer-busy-poll"];

    [Theory]
    [Trait("Backend", "io_uring")]
    [InlineData]
    [InlineData("--submission-polling", "20")]
    public async Task Files_from_memory_and_in_chunks_are_served_with_it_on_rings(params string[] flags) =>
        await ServeAsync(["--backend", "io_uring", .. flags]);

    [Fact]
    [Trait("Backend", "epoll")]
    public async Task Files_from_memory_and_in_chunks_are_served_with_it_on_epoll() => await ServeAsync(["--backend", "epoll"]);

    /// <summary>The right that it takes is there while addresses are bound, and gone when reactors start.</summary>
    [Fact]
    public async Task It_is_preferred_by_a_server_that_was_root()
    {
        Nobody.RequireRoot();
        await ServeAsync(["--user", Nobody.UserAndGroup, "--prefer-busy-poll", .. Publication.BackendFlags]);
    }

    [Fact]
    public async Task To_prefer_it_is_refused_by_server_check_and_doctor_to_who_may_not()
    {
        RequireKernel();
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        string[] flags = [Places.SampleSite, "--listen", "127.0.0.1:0", .. Preferring];
        string[] words = ["Busy polling may not be preferred by this process", "tart with CAP_NET_ADMIN"];
        (await Tool.RunAsync("setpriv", [.. NoAdministrator, .. flags])).AssertRefused(1, words);

        ToolResult check = await Tool.RunAsync("setpriv", [.. NoAdministrator, "check", .. flags]);
        Assert.Equal(2, check.ExitCode);
        Assert.All(words, word => Assert.Contains(word, check.Error, StringComparison.Ordinal));

        ToolResult doctor = await Tool.RunAsync("setpriv", [.. NoAdministrator, "doctor", .. flags]);
        Assert.Equal(2, doctor.ExitCode);
        Assert.Contains("broken  busy polling", doctor.Output, StringComparison.Ordinal);
        Assert.All(words, word => Assert.Contains(word, doctor.Output, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Without_the_preference_and_on_unix_sockets_it_takes_no_right()
    {
        RequireKernel();
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        using var folder = new TempFolder();
        File.SetUnixFileMode(folder.Root, Nobody.ForAll);
        string[] tcp = [Places.SampleSite, "--listen", "127.0.0.1:0", "--busy-poll", "50"];
        string[] unix = [Places.SampleSite, "--listen", $"unix:{folder.PathOf("m.sock")}", .. Preferring];
        Assert.Equal(0, (await Tool.RunAsync("setpriv", [.. NoAdministrator, "check", .. tcp])).ExitCode);
        Assert.Equal(0, (await Tool.RunAsync("setpriv", [.. NoAdministrator, "check", .. unix])).ExitCode);

        ToolResult doctor = await Tool.RunAsync("setpriv", [.. NoAdministrator, "doctor", .. tcp]);
        Assert.Contains("ok      busy polling", doctor.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Doctor_says_nothing_of_it_unasked() => Assert.DoesNotContain(
        "busy polling", (await Tool.RunAsync(Publication.Program, "doctor", Places.SampleSite)).Output, StringComparison.Ordinal);

    [Theory]
    [InlineData("write 0 to 10000", "--busy-poll", "10001")]
    [InlineData("write 0 to 10000", "--busy-poll", "-1")]
    [InlineData("write 0 to 10000", "--busy-poll", "50us")]
    [InlineData("--prefer-busy-poll prefers what is not done: write --busy-poll as well", "--prefer-busy-poll")]
    [InlineData("--prefer-busy-poll prefers what is not done: write --busy-poll as well", "--prefer-busy-poll", "--busy-poll", "0")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, arguments)).AssertRefused(2, words);

    /// <summary>By a server that refuses calls.</summary>
    private static async Task ServeAsync(string[] flags)
    {
        RequireKernel();
        using TempFolder folder = ServedFolder.Make();
        await using ServerProcess server = await ServerProcess.StartAsync(
            Publication.Program,
            [folder.Root, "--listen", "127.0.0.1:0", "--reactors", "2", "--seccomp", "on", "--busy-poll", "50", .. flags],
            "Serving ");
        for (int round = 0; round < 3; round++)
        {
            ServedFolder.AssertServed(server, folder);
        }

        await ServedFolder.AssertEndsWellAsync(server);
    }

    private static void RequireKernel() =>
        Assert.SkipUnless(Environment.OSVersion.Version >= new Version(6, 9), "What is asked for came with Linux 6.9.");
}
