namespace Millrace.Http;

/// <summary>The flags of a frame. What a bit means depends on the type; where it means nothing it is ignored.</summary>
[Flags]
internal enum FrameFlags : byte
{
    None = 0,

    /// <summary>DATA and HEADERS: the client has nothing more to say on this stream.</summary>
    EndStream = 0x01,

    /// <summary>SETTINGS and PING: this confirms one of ours.</summary>
    Ack = EndStream,

    /// <summary>HEADERS and CONTINUATION: the field block is whole.</summary>
    EndHeaders = 0x04,

    /// <summary>DATA and HEADERS: the first byte says how many at the end are padding.</summary>
    Padded = 0x08,

    /// <summary>HEADERS: five bytes of the priorities that RFC 9113 deprecated come first.</summary>
    Priority = 0x20,
}
