using System.Net;

namespace Millrace.Engine.Filters;

/// <summary>The progress of reading a PROXY header.</summary>
internal enum ProxyHeaderStatus
{
    Incomplete,

    /// <summary>It announces the client of the connection to the proxy.</summary>
    Announced,

    /// <summary>
    /// A valid header without addresses: the connection is the proxy's own (a health check), or of a family without IP addresses.
    /// </summary>
    NoAddresses,

    /// <summary>Not a header, or not a valid one.</summary>
    Malformed,
}

/// <summary>The content of a PROXY header.</summary>
/// <param name="Status">Whether it announces a client.</param>
/// <param name="Bytes">Its length, if it is complete.</param>
/// <param name="Source">The client's address.</param>
/// <param name="Destination">The proxy's address that the client connected to.</param>
internal readonly record struct ProxyHeader(
    ProxyHeaderStatus Status, int Bytes = 0, IPEndPoint? Source = null, IPEndPoint? Destination = null)
{
    public static ProxyHeader Incomplete => new(ProxyHeaderStatus.Incomplete);

    public static ProxyHeader Malformed => new(ProxyHeaderStatus.Malformed);

    /// <summary>
    /// Reads the first bytes of a connection from a proxy (the PROXY protocol, proxy-protocol.txt, versions 1 and 2). The result does not
    /// depend on how the bytes are split.
    /// </summary>
    public static ProxyHeader Read(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return Incomplete;
        }

        return bytes[0] == ProxyHeaderV1.FirstByte ? ProxyHeaderV1.Read(bytes) : ProxyHeaderV2.Read(bytes);
    }
}
