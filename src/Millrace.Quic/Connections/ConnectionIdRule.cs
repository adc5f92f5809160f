namespace Millrace.Quic.Connections;

/// <summary>
/// How ids of an endpoint say which of several endpoints they belong to: their first byte, modulo the number of endpoints, is the
/// endpoint's index. By that the kernel gives each of several sockets of one port the datagrams of its own connections. An id then has up
/// to eight random bits less, of 64. The default is one endpoint, whose ids are random.
/// </summary>
/// <param name="Endpoints">At most <see cref="EndpointsMax"/>.</param>
/// <param name="Index">Below their number.</param>
internal readonly record struct ConnectionIdRule(int Endpoints, int Index)
{
    /// <summary>As many as one byte can name.</summary>
    public const int EndpointsMax = 256;

    /// <summary>In a long header, the destination id comes after one byte, the version and its length (RFC 8999, section 5.1).</summary>
    public const int LongHeaderOffset = 6;

    /// <summary>In a short header it comes after the first byte.</summary>
    public const int ShortHeaderOffset = 1;

    private const byte LongHeaderBit = 0x80;

    /// <summary>Changes a random id, so that it is one of this endpoint's.</summary>
    public void Apply(Span<byte> id)
    {
        if (Endpoints > 1)
        {
            int first = id[0] - (id[0] % Endpoints) + Index;
            id[0] = (byte)(first > byte.MaxValue ? first - Endpoints : first);
        }
    }

    /// <summary>The index of the endpoint that a datagram is for; this one's own, if the datagram is too short to say so.</summary>
    public int EndpointOf(ReadOnlySpan<byte> datagram)
    {
        if (Endpoints <= 1 || datagram.Length <= ShortHeaderOffset)
        {
            return Index;
        }

        int offset = (datagram[0] & LongHeaderBit) == 0 ? ShortHeaderOffset : LongHeaderOffset;
        return offset < datagram.Length ? datagram[offset] % Endpoints : Index;
    }
}
