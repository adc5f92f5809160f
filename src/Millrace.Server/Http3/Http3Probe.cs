using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine;
using Millrace.Interop.Sockets;
using Millrace.Quic.Connections;
using Millrace.QuicTransport;
using Millrace.Server.Commands;
using Millrace.Tls;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Quic;

namespace Millrace.Server.Http3;

/// <summary>Sends one request over HTTP/3, on a reactor of its own, and judges the server by the status of the response.</summary>
internal static class Http3Probe
{
    private const int PortDefault = 443;

    /// <summary>Each is asked by a reactor of its own.</summary>
    private const int AddressesMax = 4;

    private static readonly IReadOnlyList<ApplicationProtocol> Protocols = [new ApplicationProtocol("h3")];

    /// <summary>Never throws: errors become the result.</summary>
    /// <param name="url">Of the scheme https.</param>
    /// <param name="authorities">A file of certificates to trust; null for the system's.</param>
    /// <param name="timeout">For all of it.</param>
    /// <param name="cancellation">Gives up.</param>
    public static async Task<ProbeResult> AskAsync(Uri url, string? authorities, TimeSpan timeout, CancellationToken cancellation)
    {
        using var limited = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        limited.CancelAfter(timeout);
        try
        {
            IPAddress[] addresses = await Dns.GetHostAddressesAsync(url.DnsSafeHost, limited.Token);
            return await AskAsync(url, addresses, authorities, limited);
        }
        catch (Exception refusal) when (refusal is TlsException or EngineException)
        {
            return new ProbeResult(false, refusal.Message);
        }
        catch (SocketException refusal)
        {
            return new ProbeResult(false, $"{url} does not respond: {NetworkProblem.Of(refusal)}.");
        }
        catch (OperationCanceledException)
        {
            return new ProbeResult(false, $"{url} did not respond over HTTP/3 within {timeout.TotalSeconds} s.");
        }
    }

    /// <summary>
    /// The first answer from one of a name's addresses, all of which are asked at the same time: where the server does not listen there is
    /// silence.
    /// </summary>
    internal static async Task<ProbeResult> AskAsync(
        Uri url, IPAddress[] addresses, string? authorities, CancellationTokenSource limited)
    {
        int port = url.Port > 0 ? url.Port : PortDefault;
        List<Task<ProbeResult>> asked =
        [
            .. addresses.Take(AddressesMax).Select(address => AskAsync(url, new IPEndPoint(address, port), authorities, limited.Token)),
        ];
        Task<ProbeResult> first = await Task.WhenAny(asked);
        while (!first.IsCompletedSuccessfully && asked.Count > 1)
        {
            asked.Remove(first);
            first = await Task.WhenAny(asked);
        }

        await limited.CancelAsync();
        await ((Task)Task.WhenAll(asked)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return await first;
    }

    private static async Task<ProbeResult> AskAsync(Uri url, IPEndPoint endPoint, string? authorities, CancellationToken cancellation)
    {
        using var tls = TlsClient.Create(authorities, NullLoggerFactory.Instance, isForQuic: true);
        using var keys = QuicTokenKeys.Create();
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        Reactor reactor = group.Reactors[0];
        var request = new Http3ProbeRequest(url);
        await reactor.PostAsync(() => request.Begin(QuicClient.Connect(
            reactor,
            endPoint,
            QuicSettings.Default,
            new OpenSslQuicCryptography(keys),
            tls.TargetOf(url.DnsSafeHost, endPoint.Port).ConnectQuic(Protocols),
            request,
            new QuicTransportLog(NullLogger.Instance))));
        try
        {
            return await request.Result.WaitAsync(cancellation);
        }
        finally
        {
            await reactor.PostAsync(request.End);
            await request.Ended;
        }
    }
}
