using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Handshakes with the clients that people have.</summary>
public class HandshakeTests : TlsTest
{
    private const string Request = "GET /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    [Theory]
    [InlineData("-tls1_3", "Tls13")]
    [InlineData("-tls1_2", "Tls12")]
    public async Task OpenSsl_is_answered_over_either_version(string flag, string version)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string seen = await Tools.AskAsync(listener, Request, flag);
        Assert.Contains($"\n{version} ", seen, StringComparison.Ordinal);
        Assert.Equal((1, 0), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    [Fact]
    public async Task Curl_is_answered()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string url = $"https://127.0.0.1:{PortOf(listener)}";
        string seen = await Tools.RunAsync("curl", "", "-sk", "--http1.1", $"{url}/session", $"{url}/session");
        Assert.Equal(2, seen.Split("alpn=http/1.1").Length - 1);
        Assert.Equal(1, Terminator.Counters.HandshakesDone);
    }

    [Theory]
    [InlineData(SslProtocols.Tls12)]
    [InlineData(SslProtocols.Tls13)]
    public async Task A_dotnet_client_sends_and_receives_all_sizes(SslProtocols protocol)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        SslStream stream = await ConnectTlsAsync(
            listener, new SslClientAuthenticationOptions { TargetHost = "localhost", EnabledSslProtocols = protocol });
        foreach (int count in (int[])[1, 2, 1_369, 1_370, 16_384, 16_385, 700_000])
        {
            byte[] sent = Pattern.Make(count, count);
            Task send = stream.WriteAsync(sent).AsTask();
            Pattern.Check(count, await ReceiveAsync(stream, count));
            await send;
        }

        await stream.ShutdownAsync().Within();
        Assert.Empty(await ReceiveToEndAsync(stream));
    }

    [Fact]
    public async Task A_connection_beyond_a_limit_gets_an_answer_over_tls()
    {
        TlsTerminator terminator = Terminate();
        ReactorGroup group = await StartAsync(Options(new Limits { Connections = 1 }));
        Listener listener = await group.ListenTlsAsync(new IPEndPoint(IPAddress.Loopback, 0), terminator, Handlers.EchoAsync, Refuse).Within();
        SslStream served = await ConnectTlsAsync(listener);
        SslStream refused = await ConnectTlsAsync(listener);
        Assert.Equal("full", Encoding.ASCII.GetString(await ReceiveToEndAsync(refused)));
        await served.WriteAsync(new byte[] { 4 }).AsTask().Within();
        Assert.Equal([4], await ReceiveAsync(served, 1));

        static Task Refuse(Connection connection)
        {
            connection.Write("full"u8);
            return Task.CompletedTask;
        }
    }

    [Fact]
    public async Task What_was_agreed_on_is_there_when_the_handler_starts()
    {
        var seen = new TaskCompletionSource<TlsSession?>();
        Listener listener = await ServeTlsAsync(connection =>
        {
            seen.SetResult(connection.GetTlsSession());
            connection.Write("hello"u8);
            return Task.CompletedTask;
        });
        SslStream stream = await ConnectTlsAsync(listener, new SslClientAuthenticationOptions
        {
            TargetHost = "example.org",
            ApplicationProtocols = [SslApplicationProtocol.Http2, SslApplicationProtocol.Http11],
        });
        Assert.Equal("hello", Encoding.ASCII.GetString(await ReceiveToEndAsync(stream)));
        TlsSession? session = await seen.Task;
        Assert.NotNull(session);
        Assert.Equal(("http/1.1", "example.org", false), (session.ApplicationProtocol, session.ServerName, session.IsResumed));
        Assert.Equal(stream.SslProtocol, session.Protocol);
        Assert.Equal(stream.NegotiatedCipherSuite, session.CipherSuite);
    }
}
