using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>The units for systemd, which is asked what it makes of them.</summary>
public partial class UnitFileTests
{
    private static readonly string Folder = Path.Combine(Places.Repository, "deploy", "systemd");

    private static readonly string Unit = Path.Combine(Folder, "millrace.service");

    [Fact]
    public async Task Systemd_understands_every_line()
    {
        Tool.Require("systemd-analyze");
        using var folder = new TempFolder();

        // The program and its manual need not be installed to check the rest.
        string[] units = ["millrace.service", "millrace.socket", "millrace-https.socket", "millrace-http3.socket"];
        foreach (string name in units)
        {
            IEnumerable<string> lines = File.ReadLines(Path.Combine(Folder, name))
                .Where(static line => !line.StartsWith("Documentation=", StringComparison.Ordinal))
                .Select(static line => line.Replace("/usr/bin/millrace", Publication.Program, StringComparison.Ordinal));
            await File.WriteAllLinesAsync(folder.PathOf(name), lines);
        }

        ToolResult result = await Tool.RunAsync("systemd-analyze", ["verify", .. units.Select(folder.PathOf)]);
        Assert.Equal((0, ""), (result.ExitCode, result.Output + result.Error));
    }

    [Fact]
    public async Task Systemd_finds_little_that_an_intruder_could_use()
    {
        Tool.Require("systemd-analyze");
        ToolResult result = await Tool.RunAsync("systemd-analyze", "security", "--offline=true", "--no-pager", Unit);
        Match level = Regex.Match(result.Output, @"Overall exposure level for millrace\.service: (?<level>[0-9.]+)");
        Assert.True(level.Success, result.Output + result.Error);
        Assert.InRange(double.Parse(level.Groups["level"].Value, CultureInfo.InvariantCulture), 0, 1.9);
    }

    /// <summary>openat2(2), without which nothing is served. systemd refuses it beside the filter that it is asked for.</summary>
    [Theory]
    [InlineData("RestrictSUIDSGID=")]
    [InlineData("DynamicUser=")]
    public void What_takes_a_call_away_without_naming_it_is_not_asked_for(string setting) =>
        Assert.DoesNotContain(File.ReadLines(Unit), line => line.StartsWith(setting, StringComparison.Ordinal));

    /// <summary>The unit's own filter is tried by Millrace.Packaging.Tests only; what the server calls is compared with it here.</summary>
    [Fact]
    public async Task Whatever_the_server_calls_in_its_life_the_unit_allows()
    {
        Tool.Require("systemd-analyze");
        Tool.Require("strace");
        using var folder = new TempFolder();
        folder.Add("text.txt", 100_000);
        string trace = folder.PathOf("../" + Path.GetFileName(folder.Root) + ".trace");
        try
        {
            await LiveAsync(folder, trace);
            string[] called = [.. File.ReadLines(trace).Select(static line => Call().Match(line))
                .Where(static match => match.Success).Select(static match => match.Groups["name"].Value).Distinct()];
            Assert.Contains("futex", called);
            Assert.Empty(called.Except(await AllowedAsync()));
        }
        finally
        {
            File.Delete(trace);
        }
    }

    private static async Task LiveAsync(TempFolder folder, string trace)
    {
        await using ServerProcess tracer = await ServerProcess.StartAsync(
            "strace",
            ["-f", "-qq", "-o", trace, Publication.Program, folder.Root, "--listen", "127.0.0.1:0", "--https", "127.0.0.1:0",
                "--compress", "on", "--seccomp", "on", .. OwnCertificate.Make(folder, "site", "localhost"), .. Publication.BackendFlags],
            lastLine: "Serving ");
        using HttpClient client = OwnCertificate.Trusting();
        await client.GetStringAsync(new Uri(tracer.Url, "/text.txt"));
        Assert.Equal(200, Wire.Get(new Uri(tracer.Addresses[1]), "/text.txt").Status);
        int server = int.Parse(
            (await File.ReadAllTextAsync($"/proc/{tracer.Id}/task/{tracer.Id}/children")).Trim(), CultureInfo.InvariantCulture);
        Assert.Equal("", await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "kill", "-HUP", $"{server}"));
        await client.GetStringAsync(new Uri(tracer.Url, "/text.txt"));
        Assert.Equal("", await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "kill", "-TERM", $"{server}"));
        Assert.Equal(0, await tracer.ExitCodeAsync());
    }

    /// <summary>What is left of the unit's lines, in their order.</summary>
    private static async Task<HashSet<string>> AllowedAsync()
    {
        HashSet<string> allowed = [];
        foreach (string line in File.ReadLines(Unit).Where(static line => line.StartsWith("SystemCallFilter=", StringComparison.Ordinal)))
        {
            string value = line["SystemCallFilter=".Length..];
            bool isRefused = value.StartsWith('~');
            foreach (string name in value.TrimStart('~').Split(' ', StringSplitOptions.RemoveEmptyEntries))
            {
                HashSet<string> calls = [];
                await ExpandAsync(name, calls);
                if (isRefused)
                {
                    allowed.ExceptWith(calls);
                }
                else
                {
                    allowed.UnionWith(calls);
                }
            }
        }

        return allowed;
    }

    private static async Task ExpandAsync(string name, HashSet<string> calls)
    {
        if (!name.StartsWith('@'))
        {
            calls.Add(name);
            return;
        }

        string list = await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "systemd-analyze", "--no-pager", "syscall-filter", name);
        foreach (string member in list.Split('\n').Skip(1).Select(static line => line.Trim()))
        {
            if (member.Length > 0 && !member.StartsWith('#'))
            {
                await ExpandAsync(member, calls);
            }
        }
    }

    [GeneratedRegex(@"^\d+\s+(?:<\.\.\. )?(?<name>[a-z_][a-z0-9_]*)(?:\(| resumed)")]
    private static partial Regex Call();
}
