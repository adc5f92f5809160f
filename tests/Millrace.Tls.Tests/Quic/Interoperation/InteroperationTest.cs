using System.Diagnostics;
using System.Globalization;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tests.Quic.Kit;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Tests with the programs of ngtcp2 on GnuTLS, over the loopback.</summary>
public abstract class InteroperationTest : QuicTlsTest
{
    private protected const string ClientProgram = "gtlsclient";
    private protected const string ServerProgram = "/usr/sbin/gtlsserver";

    private protected static QuicSettings Settings { get; } = new()
    {
        // The loop's socket does not show the marks.
        UsesEcn = false,
        IdleTimeout = 10 * QuicClock.Second,
    };

    private protected static void RequirePrograms()
    {
        Tools.Require(ClientProgram);
        Assert.SkipUnless(File.Exists(ServerProgram), $"{ServerProgram} is not installed.");
    }

    /// <summary>A server of ours.</summary>
    private protected (UdpLoop Loop, Http3Server Server) Serve(
        long responseLength, EndpointLimits? limits = null, TlsTerminator? terminator = null, QuicSettings? settings = null)
    {
        terminator ??= TerminateHttp3();
        var server = new Http3Server(terminator, responseLength);
        return (Keep(new UdpLoop(settings ?? Settings, limits ?? new EndpointLimits(), server)), server);
    }

    private protected TlsTerminator TerminateHttp3() =>
        Terminate(Options(Pem.Make("server", "localhost")) with { ApplicationProtocols = ["h3"] });

    /// <summary>Runs ngtcp2's client to its end. Returns what it prints.</summary>
    private protected static Task<string> AskAsync(UdpLoop loop, IEnumerable<string> paths, params string[] options)
    {
        string port = loop.Port.ToString(CultureInfo.InvariantCulture);
        return Tools.RunAsync(
            EngineTest.Patience, ClientProgram, "",
            [
                "--exit-on-all-streams-close", "--no-quic-dump", "--no-http-dump", "--timeout=10s", .. options, "--sni=localhost",
                "127.0.0.1", port,
                .. paths.Select(path => $"https://localhost:{port}{path}"),
            ]);
    }

    /// <summary>Runs ngtcp2's server for a test.</summary>
    private protected async Task<NgtcpServer> StartServerAsync(string folder, params string[] options)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("ngtcp2", "localhost");
        int port = FreePort.Find();
        ProcessStartInfo start = new(
            ServerProgram,
            ["-q", "-d", folder, .. options, "127.0.0.1", port.ToString(CultureInfo.InvariantCulture), leaf.Key, leaf.Certificate])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        NgtcpServer server = Keep(new NgtcpServer(Process.Start(start)!, port, authority));
        string bound = $":{port:X4} ";
        await Waiting.UntilAsync(
            () => File.ReadLines("/proc/net/udp").Any(line => line.Contains(bound, StringComparison.Ordinal)), "the server has its port");
        return server;
    }
}

/// <summary>A running <c>gtlsserver</c>.</summary>
internal sealed class NgtcpServer : IDisposable
{
    private readonly Process _process;

    public NgtcpServer(Process process, int port, string authority)
    {
        _process = process;
        Port = port;
        Authority = authority;

        // Its pipes must not fill.
        _ = process.StandardOutput.ReadToEndAsync();
        _ = process.StandardError.ReadToEndAsync();
    }

    public int Port { get; }

    /// <summary>The file of the certificate to trust.</summary>
    public string Authority { get; }

    public void Dispose()
    {
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
    }
}
