using System.Security.Authentication;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Connection middleware, in front of Kestrel's own for TLS: what is left to do for a connection whose TLS the transport has terminated.
/// All others pass. On the thread pool.
/// </summary>
internal sealed class DecryptedConnections(ConnectionDelegate next, HttpsConnectionAdapterOptions options, TransportLog log)
{
    private static readonly KeyValuePair<string, object?> Tls12Tag = new("tls.protocol.version", "1.2");
    private static readonly KeyValuePair<string, object?> Tls13Tag = new("tls.protocol.version", "1.3");

    private readonly ClientCertificateCheck? _check =
        options.ClientCertificateMode == ClientCertificateMode.NoCertificate ? null : new ClientCertificateCheck(options);

    private bool _hasTold;

    public Task OnConnectionAsync(ConnectionContext connection)
    {
        if (connection.Features.Get<ITlsConnectionFeature>() is not ConnectionTls tls)
        {
            return next(connection);
        }

        TellIfBehind(connection);
#pragma warning disable CA5398 // It is what was spoken, not a choice.
        connection.Features.Get<IConnectionMetricsTagsFeature>()?.Tags.Add(tls.Protocol == SslProtocols.Tls13 ? Tls13Tag : Tls12Tag);
#pragma warning restore CA5398
        if (_check?.Admits(tls) != false)
        {
            return next(connection);
        }

        log.ClientCertificateRefused(connection.ConnectionId);
        connection.Abort(new ConnectionAbortedException("The client's certificate was refused."));
        return Task.CompletedTask;
    }

    /// <summary>
    /// Whoever was registered before stands where the wire is with Kestrel's TLS, and here is past TLS already. He is seen by what he has
    /// put in the place of the transport's pipes; those who put nothing there have bytes as they were.
    /// </summary>
    private void TellIfBehind(ConnectionContext connection)
    {
        if (!_hasTold
            && connection.Features.Get<IReactorFeature>() is TransportConnection own && !own.IsOwn(connection.Transport)
            && !Interlocked.Exchange(ref _hasTold, true))
        {
            log.TlsBehindMiddleware(connection.LocalEndPoint);
        }
    }
}
