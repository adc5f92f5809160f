using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Upstreams;

/// <summary>Where an upstream listens: the place that a rule names, with its address if it has one, and its Host. Immutable.</summary>
internal sealed class UpstreamTarget
{
    private const string SocketHost = "localhost";

    private UpstreamTarget(ProxyTarget place)
    {
        bool isSocket = place.SocketPath is not null;
        string authority = isSocket ? SocketHost : place.Authority;
        Text = isSocket ? place.ToString() : $"{(place.IsTls ? "https" : "http")}://{authority}";
        IsTls = place.IsTls;
        Host = isSocket ? SocketHost : place.Host;
        Port = place.Port;
        EndPoint = isSocket ? new UnixDomainSocketEndPoint(place.SocketPath!)
            : IPAddress.TryParse(place.Host, out IPAddress? address) ? new IPEndPoint(address, place.Port)
            : null;
        Authority = Encoding.ASCII.GetBytes(authority);
    }

    /// <summary>Scheme and authority, or "unix:" and the path: two targets with the same text are the same upstream.</summary>
    public string Text { get; }

    public bool IsTls { get; }

    /// <summary>The name or address, without brackets; "localhost" for a unix socket.</summary>
    public string Host { get; }

    public int Port { get; }

    /// <summary>The address; null for a name, which has to be resolved.</summary>
    public EndPoint? EndPoint { get; }

    /// <summary>Its own Host field.</summary>
    public ReadOnlyMemory<byte> Authority { get; }

    /// <summary>Reads what <see cref="ProxyTarget"/> reads; a path after the place is ignored.</summary>
    /// <exception cref="SiteException">It is not valid.</exception>
    public static UpstreamTarget Parse(string text) => new(ProxyTarget.Parse(text, out _));

    public override string ToString() => Text;
}
