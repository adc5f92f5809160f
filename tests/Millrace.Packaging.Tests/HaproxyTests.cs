using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

public class HaproxyTests
{
    private static readonly string Folder = Path.Combine(Places.Repository, "deploy", "haproxy");

    [Theory]
    [InlineData("http.cfg")]
    [InlineData("https.cfg")]
    [InlineData("passthrough.cfg")]
    public async Task The_configuration_is_one_that_haproxy_takes_without_a_warning(string way)
    {
        Array.ForEach(["haproxy", "openssl"], Tool.Require);
        using var folder = new TempFolder();
        string certificate = folder.PathOf("site.pem");
        await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(30),
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=mill.test",
            "-out", certificate, "-keyout", certificate + ".key");
        string text = await File.ReadAllTextAsync(Path.Combine(Folder, way));
        await File.WriteAllTextAsync(folder.PathOf(way), text.Replace("/etc/haproxy/certs", certificate, StringComparison.Ordinal));

        ToolResult result = await Tool.RunAsync("haproxy", "-c", "-f", Path.Combine(Folder, "haproxy.cfg"), "-f", folder.PathOf(way));

        Assert.True(result.ExitCode == 0, result.Output + result.Error);
        Assert.DoesNotContain("WARNING", result.Output + result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Rolling_a_server_that_haproxy_does_not_know_restarts_nothing()
    {
        Array.ForEach(["haproxy", "socat"], Tool.Require);
        using var folder = new TempFolder();
        string socket = folder.PathOf("admin.sock");
        await File.WriteAllTextAsync(folder.PathOf("haproxy.cfg"), $"""
            global
                stats socket {socket} mode 600 level admin
            defaults
                mode http
                timeout connect 1s
                timeout client 1s
                timeout server 1s
            frontend web
                bind unix@{folder.PathOf("front.sock")}
                default_backend millrace
            backend millrace
                server a unix@{folder.PathOf("a.sock")}

            """);
        await using ServerProcess proxy = ServerProcess.Launch("haproxy", "-db", "-f", folder.PathOf("haproxy.cfg"));
        await ThereAsync(socket);

        ToolResult result = await Tool.RunAsync(
            Path.Combine(Folder, "roll"), socket, "millrace/b", "touch", folder.PathOf("restarted"));

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("No such server", result.Error, StringComparison.Ordinal);
        Assert.False(File.Exists(folder.PathOf("restarted")));
    }

    private static async Task ThereAsync(string path)
    {
        using var end = new CancellationTokenSource(TimeSpan.FromSeconds(30));
        while (!File.Exists(path))
        {
            await Task.Delay(TimeSpan.FromMilliseconds(20), end.Token);
        }
    }
}
