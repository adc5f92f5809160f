using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 of a server that has given up its rights and system calls, or got its socket from a service manager.</summary>
[SupportedOSPlatform("linux")]
public sealed class Http3SandboxTests : IDisposable
{
    private readonly TempFolder _folder = new();
    private readonly TempFolder _keys = new();
    private readonly string[] _certificate;

    public Http3SandboxTests()
    {
        File.SetUnixFileMode(_folder.Root, Nobody.ForAll);
        File.SetUnixFileMode(_keys.Root, Nobody.ForAll);
        _folder.Add("a.bin", 300_000);
        _certificate = MakeCertificate();
    }

    private string Certificate => _keys.PathOf("site.crt");

    public void Dispose()
    {
        _folder.Dispose();
        _keys.Dispose();
    }

    [Fact]
    public async Task A_port_of_root_is_served_by_another_user_whose_system_calls_are_filtered()
    {
        Nobody.RequireRoot();
        int port = FindPortOfRoot();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [_folder.Root, "--https", $"127.0.0.1:{port}", "--http3", "--user", Nobody.UserAndGroup, "--seccomp", "on", "--reactors", "2",
                .. _certificate]);
        Assert.EndsWith(" with HTTP/3", server.Lines[0], StringComparison.Ordinal);
        await AssertServesAsync(port);

        // The certificate is read again as that user.
        MakeCertificate();
        server.Signal(PosixSignal.SIGHUP);
        await AwaitTrustAsync(port);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        string said = await server.ErrorAsync();
        Assert.DoesNotContain("warn:", said, StringComparison.Ordinal);
        Assert.DoesNotContain("fail:", said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_socket_of_the_service_manager_is_used_again_when_a_reload_switches_HTTP_3_off_and_on()
    {
        using var parent = new ServiceParent();
        var address = (IPEndPoint)parent.Listen("https", new IPEndPoint(IPAddress.Loopback, 0));
        parent.BindDatagrams("http3", address);
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(
            Configured(address, http3: true), flags => parent.StartAsync(flags));
        await AssertServesAsync(address.Port);
        await server.ReloadAsync(Configured(address, http3: false));
        await server.ReloadAsync(Configured(address, http3: true));
        await AssertServesAsync(address.Port);
    }

    private static int FindPortOfRoot()
    {
        for (int port = 1023; port > 512; port--)
        {
            try
            {
                using var tcp = new TcpListener(IPAddress.Loopback, port);
                tcp.Start();
                using var udp = new UdpClient(new IPEndPoint(IPAddress.Loopback, port));
                return port;
            }
            catch (SocketException)
            {
                continue;
            }
        }

        throw new InvalidOperationException("No port below 1024 is free.");
    }

    private string[] MakeCertificate()
    {
        string[] flags = OwnCertificate.Make(_keys, "site", "localhost");
        foreach (string file in (string[])[Certificate, _keys.PathOf("site.key")])
        {
            File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.OtherRead);
        }

        return flags;
    }

    private string Configured(IPEndPoint address, bool http3) => $$"""
        { "root": "{{_folder.Root}}", "https": {
          "listen": "{{address}}", "cert": "{{Certificate}}", "key": "{{_keys.PathOf("site.key")}}",
          "http3": {{(http3 ? "true" : "false")}} } }
        """;

    private async Task AssertServesAsync(int port)
    {
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection connection = await client.ConnectAsync(port);
        Http3TestResponse response = await connection.GetAsync("/a.bin");
        Assert.Equal(("200", 300_000), (response.Status, response.Content.Length));
        connection.Close();
        await connection.Closed;
    }

    /// <summary>Waits until new connections have the new certificate.</summary>
    private async Task AwaitTrustAsync(int port)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        while (true)
        {
            try
            {
                await AssertServesAsync(port);
                return;
            }
            catch (Http3TestException)
            {
                // Sleeps: a reload without a configuration file is not reported.
                await Task.Delay(10, deadline.Token);
            }
        }
    }
}
