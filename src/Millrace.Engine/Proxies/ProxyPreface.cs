using System.Net;

namespace Millrace.Engine.Proxies;

/// <summary>How far the reading of a preface has come.</summary>
internal enum PrefaceStatus
{
    Incomplete,

    /// <summary>It says who is at the other end of the connection to the proxy.</summary>
    Told,

    /// <summary>
    /// It is one, and says nothing of that: the connection is the proxy's own (a health check), or of a kind without addresses.
    /// </summary>
    Untold,

    /// <summary>It is none, or not as it should be.</summary>
    Malformed,
}

/// <summary>What a preface says.</summary>
/// <param name="Status">Whether it says anything.</param>
/// <param name="Bytes">Its length, where it is complete.</param>
/// <param name="Source">Whose connection it is.</param>
/// <param name="Destination">What address of the proxy's they connected to.</param>
internal readonly record struct ProxyPreface(PrefaceStatus Status, int Bytes = 0, IPEndPoint? Source = null, IPEndPoint? Destination = null)
{
    public static ProxyPreface Incomplete => new(PrefaceStatus.Incomplete);

    public static ProxyPreface Malformed => new(PrefaceStatus.Malformed);

    /// <summary>
    /// Reads the first bytes of a connection that comes by a proxy (the PROXY protocol, proxy-protocol.txt, in its versions 1 and 2).
    /// Whatever way they are split, the same bytes end in the same result.
    /// </summary>
    public static ProxyPreface Read(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return Incomplete;
        }

        return bytes[0] == ProxyLine.FirstByte ? ProxyLine.Read(bytes) : ProxyBlock.Read(bytes);
    }
}
