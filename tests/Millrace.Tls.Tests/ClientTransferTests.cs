using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>What goes over a client's connections, how they end, and what is left of them.</summary>
public class ClientTransferTests : TlsClientTest
{
    private static readonly byte[] Request = Encoding.ASCII.GetBytes("GET /session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    [Theory]
    [InlineData(SslProtocols.Tls12, 1)]
    [InlineData(SslProtocols.Tls12, int.MaxValue)]
    [InlineData(SslProtocols.Tls13, 1)]
    [InlineData(SslProtocols.Tls13, int.MaxValue)]
    public async Task A_server_of_either_version_is_understood_byte_by_byte(SslProtocols version, int pieces)
    {
        CertificateFiles files = Pem.Make("server", "localhost");
        IPEndPoint server = ServeNet(files, EchoAsync, options => options.EnabledSslProtocols = version,
            socket => new CuttingStream(socket, pieces));
        await StartAsync();
        Trust(files.Certificate);
        Pattern.Check(1, await AskTlsAsync(server, "localhost", Pattern.Make(1, 1_000), 1_000));
    }

    [Fact]
    public async Task Large_transfers_go_both_ways_at_once()
    {
        const int Bytes = 24_000_000;
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        Trust(Pem.PathOf("server.crt"));
        byte[][] echoes = await Task.WhenAll(Enumerable.Range(0, 2).Select(
            id => AskTlsAsync(EndPointOf(listener), "localhost", Pattern.Make(id, Bytes), Bytes)));
        for (int id = 0; id < echoes.Length; id++)
        {
            Pattern.Check(id, echoes[id]);
        }

        await EndedAsync();
        Assert.Equal(0, Terminator.Counters.ConnectionsTruncated);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_end_without_close_notify_is_a_truncation(bool isOrderly)
    {
        CertificateFiles files = Pem.Make("server", "localhost");
        IPEndPoint server = ServeNet(files, async stream =>
        {
            await stream.WriteAsync("part"u8.ToArray());
            if (isOrderly)
            {
                await stream.ShutdownAsync();
            }
        });
        await StartAsync();
        Trust(files.Certificate);
        IOException end = await Assert.ThrowsAsync<IOException>(() => AskTlsAsync(server, "localhost", [], 5));
        Assert.Equal(isOrderly ? "End" : "Reset", end.Message);
        Assert.Equal(isOrderly ? 0 : 1, Tls.Counters.ConnectionsTruncated);
    }

    [Theory]
    [InlineData("-tls1_2")]
    [InlineData("-tls1_3")]
    public async Task A_server_of_openssl_is_understood_and_its_sessions_are_resumed(string version)
    {
        CertificateFiles files = Pem.Make("server", "localhost");
        await using OpenSslServer server = await OpenSslServer.StartAsync(version, files);
        await StartAsync();
        Trust(files.Certificate);
        for (int i = 0; i < 4; i++)
        {
            string page = Encoding.ASCII.GetString(await AskTlsAsync(server.EndPoint, "localhost", "GET / HTTP/1.0\r\n\r\n"u8.ToArray(), 400));
            Assert.StartsWith("HTTP/1.0 200 ok", page, StringComparison.Ordinal);
            Assert.Equal(i, Tls.Counters.HandshakesResumed);
            await EndedAsync();
        }
    }

    [Theory]
    [InlineData(SslProtocols.Tls12)]
    [InlineData(SslProtocols.Tls13)]
    public async Task A_session_is_resumed_for_its_host_and_its_authorities_only(SslProtocols version)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options: Options() with { Reactors = 2 });
        Trust(Pem.PathOf("server.crt"));
        IPEndPoint server = EndPointOf(listener);
        Func<string, Task<string>> ask = async host => Encoding.ASCII.GetString(await AskTlsAsync(server, host, Request, 100));
        if (version == SslProtocols.Tls12)
        {
            CertificateFiles files = Pem.Make("server", "localhost");
            await using OpenSslServer old = await OpenSslServer.StartAsync("-tls1_2", files);
            server = old.EndPoint;
            Trust(files.Certificate);
            await CheckAsync();
        }
        else
        {
            await CheckAsync();
        }

        async Task CheckAsync()
        {
            await ask("localhost");
            await EndedAsync();
            await ask("localhost");
            Assert.Equal(1, Tls.Counters.HandshakesResumed);
            await EndedAsync();
            await ask("127.0.0.1");
            Assert.Equal(1, Tls.Counters.HandshakesResumed);
            Assert.True(Tls.TryReload());
            await EndedAsync();
            await ask("localhost");
            Assert.Equal(1, Tls.Counters.HandshakesResumed);
            await EndedAsync();
            await ask("localhost");
            Assert.Equal(2, Tls.Counters.HandshakesResumed);
            await EndedAsync();
        }
    }

    /// <summary>Sessions that were never used would be as many as connections.</summary>
    [Fact]
    public async Task The_sessions_of_a_server_are_limited()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Trust(Pem.PathOf("server.crt"));
        await Task.WhenAll(Enumerable.Range(0, 40).Select(_ => AskTlsAsync(EndPointOf(listener), "localhost", Request, 100)));
        await EndedAsync();
        Assert.Equal(40, Tls.Counters.HandshakesDone);
        Assert.Equal(Handshakes.ClientSessions.Most, Tls.TargetOf("localhost", EndPointOf(listener).Port).Sessions.Count);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Thousands_of_connections_leave_no_memory_behind()
    {
        CertificateFiles files = Pem.Make("server", "localhost");
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(files));
        IPEndPoint closing = ServePlain(static client => client.ReceiveAsync(5));
        Trust(files.Certificate);
        await RoundAsync(300);
        long least = long.MaxValue;
        for (int round = 0; round < 3; round++)
        {
            long before = Heap.BytesInUse();
            await RoundAsync(1_000);
            least = Math.Min(least, Heap.BytesInUse() - before);
        }

        Assert.True(least < 200_000, $"Each 1,000 rounds leave {least} bytes.");

        async Task RoundAsync(int count)
        {
            for (int i = 0; i < count; i++)
            {
                await AskTlsAsync(EndPointOf(listener), "localhost", Request, 100);
                await FailTlsAsync(EndPointOf(listener), "other.test");
                if (i % 10 == 0)
                {
                    await FailTlsAsync(closing);
                }
            }

            await EndedAsync();
        }
    }

    private Task EndedAsync() => Waiting.UntilAsync(
        () => Reactor.AskAsync(() => Reactor.Connections.Count).Result == 0, "the connections have ended");

    private static async Task EchoAsync(SslStream stream)
    {
        byte[] buffer = new byte[4_096];
        while (await stream.ReadAsync(buffer) is var count and > 0)
        {
            await stream.WriteAsync(buffer.AsMemory(0, count));
        }
    }
}
