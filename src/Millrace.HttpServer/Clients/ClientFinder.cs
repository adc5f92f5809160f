using System.Net;
using System.Text;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Clients;

/// <summary>
/// Finds the client's address of a request: the peer's, unless the peer is a trusted proxy that has reported a client. Each proxy appends
/// the address it sees, so the list is read from its end as long as the reporting proxies are trusted: entries before the first untrusted
/// address could be forged. Immutable; any thread.
/// </summary>
internal sealed class ClientFinder(ClientOptions options)
{
    /// <summary>For a server that no proxy is in front of.</summary>
    public static ClientFinder Direct { get; } = new(new ClientOptions());

    public TrustedPeers Trusted { get; } = new(options);

    /// <summary>Whether any peer may report something: otherwise no peer's address is needed.</summary>
    public bool TrustsAny => options.Trusted.Count > 0 || options.TrustsUnix;

    /// <summary>
    /// The client of a request that is planned; null if unknown, as on a unix socket. On the connection's reactor. Allocates only if a
    /// trusted proxy reports a client.
    /// </summary>
    public IPAddress? Of(IClientConnection connection, RequestHead head, ReadOnlySpan<byte> bytes) =>
        Of(connection.KeepRemoteEndPoint(), head, bytes);

    /// <summary>The same, of a peer.</summary>
    public IPAddress? Of(EndPoint? peer, RequestHead head, ReadOnlySpan<byte> bytes) =>
        ReadsFieldOf(peer) ? LastUntrusted(AddressOf(peer), ListOf(head, bytes)) : AddressOf(peer);

    /// <summary>
    /// The scheme that a trusted peer says the client uses: in X-Forwarded-Proto, whose last value is the peer's own, or in the "proto" of
    /// the client's element of Forwarded. Unknown if nothing is said. On any thread.
    /// </summary>
    public UriScheme SchemeOf(EndPoint? peer, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> scheme = !ReadsFieldOf(peer) ? default
            : options.Field == ClientField.Forwarded ? LastUntrustedProto(ListOf(head, bytes))
            : LastProto(head, bytes);
        return scheme.IsEmpty ? UriScheme.Unknown
            : Ascii.EqualsIgnoreCase(scheme, "https"u8) ? UriScheme.Https
            : UriScheme.Http;
    }

    /// <summary>The client of a finished request; null if unknown.</summary>
    public IPAddress? Of(HttpExchange exchange)
    {
        IPAddress? peer = AddressOf(exchange.Peer);
        return ReadsFieldOf(exchange.Peer)
            ? LastUntrusted(peer, options.Field == ClientField.Forwarded ? exchange.Forwarded : exchange.ForwardedFor)
            : peer;
    }

    private static IPAddress? AddressOf(EndPoint? peer) => (peer as IPEndPoint)?.Address;

    private bool ReadsFieldOf(EndPoint? peer) => options.Field != ClientField.None && Trusted.Trusts(peer);

    /// <summary>The field as one list. Several lines of it are rare, and are copied.</summary>
    private ReadOnlySpan<byte> ListOf(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        FieldName name = options.Field == ClientField.Forwarded ? FieldName.Forwarded : FieldName.XForwardedFor;
        FieldValues values = head.ValuesOf(name);
        if (!values.MoveNext())
        {
            return default;
        }

        ReadOnlySpan<byte> first = values.Current.In(bytes);
        if (!values.MoveNext())
        {
            return first;
        }

        // Each line has a name and a line end, which are longer than the separator.
        byte[] joined = new byte[bytes.Length];
        return joined.AsSpan(0, head.Join(name, bytes, joined));
    }

    private static ReadOnlySpan<byte> LastProto(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> last = default;
        foreach (ref readonly FieldLine line in head.Fields)
        {
            if (line.Name == FieldName.Unknown && Words.EqualsIgnoreCase(line.NameText.In(bytes), "x-forwarded-proto"u8))
            {
                last = line.Value.In(bytes);
            }
        }

        return ForwardedList.TakeLast(ref last);
    }

    /// <summary>What the element says from which <see cref="LastUntrusted"/> takes the client.</summary>
    private ReadOnlySpan<byte> LastUntrustedProto(ReadOnlySpan<byte> list)
    {
        ReadOnlySpan<byte> scheme = default;
        bool isTrusted = true;
        while (isTrusted && !list.IsEmpty)
        {
            ReadOnlySpan<byte> element = ForwardedList.TakeLastElement(ref list);
            scheme = ForwardedList.ValueOf(element, "proto"u8);
            IPAddress? node = ForwardedList.AddressOf(ForwardedList.ValueOf(element, "for"u8));
            isTrusted = node is not null && Trusted.Trusts(node.IsIPv4MappedToIPv6 ? node.MapToIPv4() : node);
        }

        return scheme;
    }

    private IPAddress? LastUntrusted(IPAddress? client, ReadOnlySpan<byte> list)
    {
        while (!list.IsEmpty)
        {
            ReadOnlySpan<byte> node =
                options.Field == ClientField.Forwarded ? ForwardedList.TakeLastFor(ref list) : ForwardedList.TakeLast(ref list);
            if (ForwardedList.AddressOf(node) is not { } next)
            {
                // "unknown" or an invalid entry: the last known address is used.
                return client;
            }

            client = next.IsIPv4MappedToIPv6 ? next.MapToIPv4() : next;
            if (!Trusted.Trusts(client))
            {
                return client;
            }
        }

        return client;
    }
}
