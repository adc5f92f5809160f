using System.Buffers.Binary;

namespace Millrace.Quic.Connections;

/// <summary>
/// How ids of an endpoint say which of several endpoints they belong to: the number that an id stands for by the endpoints' common cipher,
/// modulo the number of endpoints, is the endpoint's index. By that the kernel gives each of several sockets of one port the datagrams of
/// its own connections, and who does not know the cipher's key cannot tell by ids which belong together. The default is one endpoint,
/// whose ids are random.
/// </summary>
/// <param name="Endpoints">At most <see cref="EndpointsMax"/>.</param>
/// <param name="Index">Below their number.</param>
/// <param name="Cipher">The same for all of them; null: there is one endpoint.</param>
internal readonly record struct ConnectionIdRule(int Endpoints, int Index, ConnectionIdCipher? Cipher)
{
    /// <summary>An id then has 8 of its 64 bits less that are random.</summary>
    public const int EndpointsMax = 256;

    /// <summary>In a long header, the destination id comes after one byte, the version and its length (RFC 8999, section 5.1).</summary>
    public const int LongHeaderOffset = 6;

    /// <summary>In a short header it comes after the first byte.</summary>
    public const int ShortHeaderOffset = 1;

    private const byte LongHeaderBit = 0x80;

    /// <summary>Of an id, those that name its endpoint: all of an id of this endpoint, and the first of one that a client chose.</summary>
    private const int NamingBytes = EndpointTable.IdLength;

    /// <summary>Changes a random id, so that it is one of this endpoint's.</summary>
    public void Apply(Span<byte> id)
    {
        if (Endpoints <= 1 || Cipher is null)
        {
            return;
        }

        uint number = BinaryPrimitives.ReadUInt32BigEndian(id);
        number = number - (number % (uint)Endpoints) + (uint)Index;
        if (number < (uint)Index)
        {
            // Beyond the last one.
            number -= (uint)Endpoints;
        }

        Cipher.Write(number, BinaryPrimitives.ReadUInt32BigEndian(id[sizeof(uint)..]), id);
    }

    /// <summary>The index of the endpoint that a datagram is for; this one's own, if the datagram is too short to say so.</summary>
    public int EndpointOf(ReadOnlySpan<byte> datagram)
    {
        if (Endpoints <= 1 || Cipher is null || datagram.IsEmpty)
        {
            return Index;
        }

        int offset = (datagram[0] & LongHeaderBit) == 0 ? ShortHeaderOffset : LongHeaderOffset;
        return datagram.Length >= offset + NamingBytes
            ? (int)(Cipher.NumberOf(datagram.Slice(offset, NamingBytes)) % (uint)Endpoints)
            : Index;
    }
}
