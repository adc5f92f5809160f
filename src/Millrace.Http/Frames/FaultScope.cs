namespace Millrace.Http;

/// <summary>What a fault of the peer ends, RFC 9113 section 5.4.</summary>
internal enum FaultScope : byte
{
    /// <summary>GOAWAY, and the connection is closed: the two sides no longer agree on its state.</summary>
    Connection,

    /// <summary>RST_STREAM for the stream of the frame; the others go on.</summary>
    Stream,
}
