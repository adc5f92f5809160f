using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The Debian package, installed, served from, upgraded, removed and purged in a Debian of its own.</summary>
[Trait("Duration", "Long")]
public class DebianInstallTests
{
    private static readonly string[] Requests = ["", "index.html"];

    [Fact]
    public async Task A_package_comes_serves_is_upgraded_and_goes_without_a_trace()
    {
        await using DebianRoot root = await DebianRoot.MakeAsync();
        await Publication.ReadyAsync();
        using var folder = new TempFolder();
        string[] before = root.List();

        await root.InstallAsync(await DebianPackage.BuildAsync(folder, Publication.Program, "1.2.3-1"));
        await AssertServesAsync(root);
        Assert.Equal(["millrace.service", "millrace.socket"], Enabled(root));

        await File.WriteAllTextAsync(root.PathOf("/etc/default/millrace"), "SITE=/srv/www\n");
        await root.InstallAsync(await DebianPackage.BuildAsync(folder, Publication.Program, "1.2.4-1"));
        Assert.Equal("1.2.4-1", await root.RunAsync("dpkg-query", "--show", "--showformat", "${Version}", "millrace"));
        Assert.Equal("SITE=/srv/www\n", await File.ReadAllTextAsync(root.PathOf("/etc/default/millrace")));
        await AssertServesAsync(root);

        await root.RunAsync("dpkg", "--remove", "millrace");
        Assert.False(File.Exists(root.PathOf("/usr/bin/millrace")));
        Assert.True(File.Exists(root.PathOf("/etc/default/millrace")));

        await root.RunAsync("dpkg", "--purge", "millrace");
        Assert.Equal(before, root.List());
    }

    [Fact]
    public async Task Lintian_finds_no_error()
    {
        Tool.Require("lintian");
        await Publication.ReadyAsync();
        using var folder = new TempFolder();

        string said = await Tool.RunToSuccessAsync(
            TimeSpan.FromMinutes(3),
            "lintian", "--allow-root", "--fail-on", "error", await DebianPackage.BuildAsync(folder, Publication.Program, "1.2.3-1"));

        Assert.DoesNotContain("E: ", said, StringComparison.Ordinal);
    }

    /// <summary>HTTPS is for who has a certificate to enable.</summary>
    private static IEnumerable<string?> Enabled(DebianRoot root) => root.List()
        .Where(static path => path.StartsWith("/etc/systemd/system/", StringComparison.Ordinal))
        .Select(Path.GetFileName)
        .Where(static name => name!.StartsWith("millrace", StringComparison.Ordinal))
        .Order(StringComparer.Ordinal);

    private static async Task AssertServesAsync(DebianRoot root)
    {
        string page = await File.ReadAllTextAsync(root.PathOf("/usr/share/millrace/welcome/index.html"));
        await using ServerProcess server = await ServerProcess.StartAsync(
            Chroot.Launcher,
            Chroot.Arguments(root.Folder, "/usr/bin/millrace", "/usr/share/millrace/welcome", "-l", "127.0.0.1:0"),
            "Serving ");
        using var client = new HttpClient();
        foreach (string request in Requests)
        {
            Assert.Equal(page, await client.GetStringAsync(new Uri(server.Url, request)));
        }

        // It takes its files in /tmp along when it is asked to stop.
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }
}
