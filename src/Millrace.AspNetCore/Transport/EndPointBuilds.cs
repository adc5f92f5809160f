using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Https;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// What an endpoint's <c>ListenOptions</c> ask of the transport, until the endpoint is bound. Kestrel builds an endpoint's connection
/// middleware just before it has the transport bind it, in one async flow that ends with the binding: that flow, not its value, identifies
/// an endpoint, as another may have the same value. Any thread.
/// </summary>
internal sealed class EndPointBuilds
{
    private readonly AsyncLocal<EndPointBuild?> _built = new();
    private readonly Lock _lock = new();
    private volatile KestrelServerOptions? _server;
    private ConnectionQuota? _quota;
    private bool _hasQuota;

    /// <summary>
    /// The quota of Kestrel's MaxConcurrentConnections. Kestrel counts a connection from its accept where it terminates TLS, but only after
    /// the handshake where Millrace does; the quota covers connections from their accept. Null without that limit, and where no endpoint
    /// uses Millrace's TLS. Read when an endpoint is bound: before that Kestrel's options are not final.
    /// </summary>
    public ConnectionQuota? Quota
    {
        get
        {
            lock (_lock)
            {
                if (!_hasQuota && _server is { } server)
                {
                    _quota = server.Limits.MaxConcurrentConnections is { } most ? new ConnectionQuota(most) : null;
                    _hasQuota = true;
                }

                return _quota;
            }
        }
    }

    /// <summary>Notes the server's own options; called for each endpoint that uses Millrace's TLS.</summary>
    public void NoteServer(KestrelServerOptions server) => _server = server;

    /// <summary>Called when the endpoint's middleware is built, from the last registered to the first: the first is to run first.</summary>
    public void Note(ListenOptions listenOptions, Action<MillraceEndPointOptions> configure)
    {
        EndPointBuild built = BuildOf(listenOptions);
        _built.Value = built with { Configure = configure + built.Configure };
    }

    /// <summary>Called when the endpoint's middleware is built, from the last registered to the first: the last counts.</summary>
    public void Note(ListenOptions listenOptions, HttpsEndPoint https)
    {
        EndPointBuild built = BuildOf(listenOptions);
        _built.Value = built with { Https = built.Https ?? https };
    }

    /// <summary>
    /// Called in the flow of the binding. The value is cleared, so that reactors and timers started there do not inherit it. Null if
    /// nothing was asked, and where other code interrupts the flow.
    /// </summary>
    public EndPointBuild? Take(EndPoint bound)
    {
        EndPointBuild? built = _built.Value;
        _built.Value = null;
        return built?.Matches(bound) == true ? built : null;
    }

    private EndPointBuild BuildOf(ListenOptions listenOptions) =>
        _built.Value is { } built && built.ListenOptions == listenOptions
            ? built
            : new EndPointBuild(listenOptions, listenOptions.EndPoint, Configure: null, Https: null);
}

/// <summary>What the middleware of one endpoint has noted.</summary>
internal sealed record EndPointBuild(
    ListenOptions ListenOptions, EndPoint EndPoint, Action<MillraceEndPointOptions>? Configure, HttpsEndPoint? Https)
{
    /// <summary>
    /// Whether this may be the endpoint that is bound: it is by Kestrel's build order, unless other code built it. Kestrel creates new
    /// objects when it binds "localhost", twice, and "any", perhaps as IPv4.
    /// </summary>
    public bool Matches(EndPoint bound) => ReferenceEquals(bound, EndPoint)
        || (bound is IPEndPoint ip && EndPoint is IPEndPoint named && ip.Port == named.Port
            && (ip.Port != 0 || named.Address.Equals(IPAddress.IPv6Any)));
}
