using System.Net;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.Proxies;

/// <summary>
/// Finds the client's address of a request: the peer's, unless the peer is a trusted proxy that has reported a client. Each proxy appends
/// the address it sees, so the list is read from its end as long as the reporting proxies are trusted: entries before the first untrusted
/// address could be forged.
/// </summary>
internal sealed class ClientFinder(ProxyOptions options)
{
    private readonly TrustedPeers _trusted = new(options);

    /// <summary>Null if unknown.</summary>
    public IPAddress? Of(HttpExchange exchange)
    {
        IPAddress? client = (exchange.Peer as IPEndPoint)?.Address;
        if (!_trusted.Trusts(exchange.Peer) || options.Field == ClientField.None)
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
                // "unknown" or an invalid entry: the last known address is used.
                return client;
            }

            client = next.IsIPv4MappedToIPv6 ? next.MapToIPv4() : next;
            if (!_trusted.Trusts(client))
            {
                return client;
            }
        }

        return client;
    }
}
