using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Proxies;
using Millrace.Web.Exchanges;

namespace Millrace.Server.Proxies;

/// <summary>
/// Whose request it was: that of who connected, unless that is a proxy that is trusted and has said for whom it asks. Each proxy adds the
/// address it sees to the end of the list, so it is read from there, as long as those who wrote it are trusted: what is before the first
/// stranger is the stranger's own to say.
/// </summary>
internal sealed class ClientFinder(ProxyOptions options)
{
    private readonly ProxyGate _gate = new(options.Trusted);

    /// <summary>Null where it is not known.</summary>
    public IPAddress? Of(Exchange exchange)
    {
        IPAddress? client = (exchange.Peer as IPEndPoint)?.Address;
        bool isTrusted = exchange.Peer is UnixDomainSocketEndPoint ? options.TrustsUnix : client is not null && _gate.Trusts(client);
        if (!isTrusted || options.Field == ClientField.None)
        {
            return client;
        }

        bool isStandard = options.Field == ClientField.Forwarded;
        ReadOnlySpan<byte> list = isStandard ? exchange.Forwarded : exchange.ForwardedFor;
        while (!list.IsEmpty)
        {
            ReadOnlySpan<byte> node = isStandard ? ForwardedList.TakeLastFor(ref list) : ForwardedList.TakeLast(ref list);
            if (ForwardedList.AddressOf(node) is not { } next)
            {
                // "unknown", or nonsense of who was before: the last that is known stands.
                return client;
            }

            client = next.IsIPv4MappedToIPv6 ? next.MapToIPv4() : next;
            if (!_gate.Trusts(client))
            {
                return client;
            }
        }

        return client;
    }
}
