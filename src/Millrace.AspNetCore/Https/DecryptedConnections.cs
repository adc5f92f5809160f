using System.Security.Authentication;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Connection middleware before Kestrel's own TLS: completes connections whose TLS the transport has terminated, by metrics tags and client
/// certificate validation. Other connections pass unchanged. Thread pool.
/// </summary>
internal sealed class DecryptedConnections(ConnectionDelegate next, HttpsConnectionAdapterOptions options, TransportLog log)
{
    private static readonly KeyValuePair<string, object?> Tls12Tag = new("tls.protocol.version", "1.2");
    private static readonly KeyValuePair<string, object?> Tls13Tag = new("tls.protocol.version", "1.3");

    private readonly ClientCertificateCheck? _check = ClientCertificateCheck.Of(options);

    private bool _hasReported;

    public Task OnConnectionAsync(ConnectionContext connection)
    {
        if (connection.Features.Get<ITlsConnectionFeature>() is not ConnectionTls tls)
        {
            return next(connection);
        }

        ReportIfBehind(connection);
#pragma warning disable CA5398 // The negotiated version, not a choice.
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
    /// Middleware registered earlier is on the wire side of Kestrel's TLS, but here sees decrypted bytes. It is detected by the pipes that
    /// it put in place of the transport's; middleware that replaces no pipes leaves bytes unchanged.
    /// </summary>
    private void ReportIfBehind(ConnectionContext connection)
    {
        if (!_hasReported
            && connection.Features.Get<IReactorFeature>() is TransportConnection own && !own.IsOwn(connection.Transport)
            && !Interlocked.Exchange(ref _hasReported, true))
        {
            log.TlsBehindMiddleware(connection.LocalEndPoint);
        }
    }
}
