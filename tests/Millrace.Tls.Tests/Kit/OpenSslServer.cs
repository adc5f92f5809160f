using System.Diagnostics;
using System.Globalization;
using System.Net;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Tls.Tests.Kit;

/// <summary><c>openssl s_server</c>, which answers each request with a page about its connection.</summary>
internal sealed class OpenSslServer : IAsyncDisposable
{
    private readonly Process _process;

    private OpenSslServer(Process process, IPEndPoint endPoint)
    {
        _process = process;
        EndPoint = endPoint;
    }

    public IPEndPoint EndPoint { get; }

    public static async Task<OpenSslServer> StartAsync(string version, CertificateFiles files, params string[] others)
    {
        Tools.Require("openssl");
        string[] arguments =
        [
            "s_server", "-accept", "127.0.0.1:0", version, "-www", "-alpn", "http/1.1", "-cert", files.Certificate, "-key", files.Key,
            .. others,
        ];
        Process process = Process.Start(new ProcessStartInfo("openssl", arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        while (await process.StandardOutput.ReadLineAsync().Within() is { } line)
        {
            // "ACCEPT 127.0.0.1:40123"
            if (line.StartsWith("ACCEPT ", StringComparison.Ordinal))
            {
                _ = process.StandardOutput.ReadToEndAsync();
                _ = process.StandardError.ReadToEndAsync();
                return new OpenSslServer(process, new IPEndPoint(
                    IPAddress.Loopback, int.Parse(line[(line.LastIndexOf(':') + 1)..], CultureInfo.InvariantCulture)));
            }
        }

        throw new InvalidOperationException($"openssl s_server has not started: {await process.StandardError.ReadToEndAsync()}");
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync();
        _process.Dispose();
    }
}
