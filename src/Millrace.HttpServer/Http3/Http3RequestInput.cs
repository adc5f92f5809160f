using Millrace.Http;
using Millrace.HttpServer.Http2;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// What is received of one request: its frames so far, and a field section that is not complete or waits for entries of the table. Belongs
/// to its stream, and is reused with it. Reactor thread only.
/// </summary>
internal sealed class Http3RequestInput
{
    /// <summary>The frames; a mutable struct.</summary>
    public Http3FrameReader Frames = new(Http3StreamKind.Request);

    /// <summary>The field section that is gathered or kept; its memory is accounted to the stream.</summary>
    public FieldBlockBuffer Section;

    /// <summary>Whether the head was decoded, and is that of a request.</summary>
    public bool HasRequest { get; set; }

    /// <summary>Since when the head, or the trailers, arrive; <see cref="long.MaxValue"/> while neither does.</summary>
    public long SectionSinceMs { get; set; } = long.MaxValue;

    /// <summary>Whether its field section waits for entries of the table; the rest of the stream is not read meanwhile.</summary>
    public bool IsBlocked { get; set; }

    /// <summary>Whether decoding the section was tried where it arrived, with <see cref="Result"/>; its frame's end follows.</summary>
    public bool IsDecoded { get; set; }

    public QpackResult Result { get; set; }

    /// <summary>The trailers, once they begin to be decoded.</summary>
    public TrailerFields? Trailers { get; set; }

    /// <summary>Bytes of DATA that are counted already and come again, as an upstream did not take them.</summary>
    public int CountedBytes { get; set; }

    /// <summary>Whether no more of the stream is read: it has ended, or was given up.</summary>
    public bool IsOver { get; set; }

    /// <summary>
    /// Whether the client's encoder knows of all its field sections: it was read to its end, or the sections were cancelled.
    /// </summary>
    public bool HasEnded { get; set; }

    /// <summary>Whether the upstream takes no more for now, so that the rest is not read.</summary>
    public bool IsHeld { get; set; }

    /// <summary>Reads no more of it.</summary>
    public void GiveUp()
    {
        IsOver = true;
        IsBlocked = false;
        SectionSinceMs = long.MaxValue;
    }

    public void Reset()
    {
        Frames = new Http3FrameReader(Http3StreamKind.Request);
        Section.Return();
        SectionSinceMs = long.MaxValue;
        HasRequest = IsBlocked = IsDecoded = IsOver = HasEnded = IsHeld = false;
        Result = default;
        Trailers = null;
        CountedBytes = 0;
    }
}
