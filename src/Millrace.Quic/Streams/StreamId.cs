namespace Millrace.Quic.Streams;

/// <summary>
/// What a stream id says (RFC 9000, section 2.1): the lowest bit is the initiator, the next one the direction, the others count.
/// </summary>
internal static class StreamId
{
    /// <summary>Limit of a stream count (RFC 9000, section 4.6).</summary>
    public const long CountMax = 1L << 60;

    private const long ServerBit = 1;
    private const long UnidirectionalBit = 2;

    public static bool IsOfServer(long id) => (id & ServerBit) != 0;

    public static bool IsBidirectional(long id) => (id & UnidirectionalBit) == 0;

    /// <summary>The number of a stream among those of its initiator and direction.</summary>
    public static long IndexOf(long id) => id >> 2;

    public static long Create(long index, bool isOfServer, bool isBidirectional) =>
        (index << 2) | (isOfServer ? ServerBit : 0) | (isBidirectional ? 0 : UnidirectionalBit);
}
