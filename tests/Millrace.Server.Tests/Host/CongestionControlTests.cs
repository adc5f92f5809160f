using System.Net;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary><c>--congestion-control</c>, as the kernel shows connections, and what is said where it cannot be had.</summary>
public class CongestionControlTests
{
    private const string Settings = "/proc/sys/net/ipv4/";

    /// <summary>Another one than connections have anyway, where there is one.</summary>
    private static string Other =>
        Names("tcp_allowed_congestion_control").FirstOrDefault(static name => name != Names("tcp_congestion_control")[0]) ?? "reno";

    [Fact]
    public async Task Connections_of_a_server_have_it_that_gives_up_all_it_can()
    {
        Tool.Require("ss");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--seccomp", "on", "--congestion-control", Other);
        Assert.Contains($" {Other} ", await SeenAsync(server.Url), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_was_handed_over_has_it_too()
    {
        Tool.Require("ss");
        using var parent = new ServiceParent();
        parent.Listen("web", new IPEndPoint(IPAddress.Loopback, 0));
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite, "--congestion-control", Other);
        Assert.Contains($" {Other} ", await SeenAsync(server.Url), StringComparison.Ordinal);
    }

    [Fact]
    public async Task One_that_the_kernel_does_not_have_is_refused_by_server_check_and_doctor()
    {
        string[] flags = [Places.SampleSite, "--listen", "127.0.0.1:0", "--congestion-control", "no-such-one"];
        string[] words = ["'no-such-one' is not in this kernel", .. Names("tcp_available_congestion_control"), "modprobe tcp_no-such-one"];
        (await Tool.RunAsync(Publication.Program, flags)).AssertRefused(1, words);

        ToolResult check = await Tool.RunAsync(Publication.Program, ["check", .. flags]);
        Assert.Equal(2, check.ExitCode);
        Assert.All(words, word => Assert.Contains(word, check.Error, StringComparison.Ordinal));

        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", .. flags]);
        Assert.Equal(2, doctor.ExitCode);
        Assert.Contains("broken  congestion control", doctor.Output, StringComparison.Ordinal);
        Assert.All(words, word => Assert.Contains(word, doctor.Output, StringComparison.Ordinal));
    }

    [Fact]
    public async Task One_that_is_not_for_anybody_is_refused_to_who_is_not_root()
    {
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        string? kept = Names("tcp_available_congestion_control").Except(Names("tcp_allowed_congestion_control")).FirstOrDefault();
        Assert.SkipUnless(kept is not null, "This kernel lets anybody use all that it has.");
        string[] server = [Publication.Program, Places.SampleSite, "--listen", "127.0.0.1:0", "--congestion-control", kept];

        // It may read what root may, wherever this is run.
        const string ReadsAll = "+dac_read_search,+dac_override";
        ToolResult result = await Tool.RunAsync(
            "setpriv", ["--reuid=65534", "--clear-groups", $"--inh-caps=-all,{ReadsAll}", $"--ambient-caps=-all,{ReadsAll}", .. server]);
        result.AssertRefused(1, $"'{kept}' may not be used by this process", "net.ipv4.tcp_allowed_congestion_control", "CAP_NET_ADMIN");
    }

    [Fact]
    public async Task Where_no_address_is_of_tcp_it_is_of_no_matter()
    {
        using var folder = new TempFolder();
        string[] flags = [Places.SampleSite, "--listen", $"unix:{folder.PathOf("m.sock")}", "--congestion-control", "no-such-one"];
        Assert.Equal(0, (await Tool.RunAsync(Publication.Program, ["check", .. flags])).ExitCode);
        await using ServerProcess server = await ServerProcess.StartAsync(flags);
    }

    [Theory]
    [InlineData("")]
    [InlineData("sixteen-letters-")]
    [InlineData("a/b")]
    public async Task What_is_no_name_is_a_mistake(string text) =>
        (await Tool.RunAsync(Publication.Program, "--congestion-control", text)).AssertRefused(2, "is not a congestion control", "1 to 15");

    private static string[] Names(string setting) => File.ReadAllText(Settings + setting).Trim().Split(' ');

    /// <summary>What the kernel says of the server's side of a connection.</summary>
    private static async Task<string> SeenAsync(Uri url)
    {
        using Wire wire = Wire.Open(url);
        Assert.Equal(200, wire.Ask("/").Status);
        return (await Tool.RunAsync("ss", "-tinH", "state", "established", $"sport = :{url.Port}")).Output;
    }
}
