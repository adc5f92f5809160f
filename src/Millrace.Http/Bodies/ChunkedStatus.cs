namespace Millrace.Http;

/// <summary>What a <see cref="ChunkedDecoder"/> made of its input.</summary>
internal enum ChunkedStatus : byte
{
    /// <summary>All input is consumed and the body goes on.</summary>
    NeedsMore,

    /// <summary>A piece of the body was found; there may be more of it in the rest of the input.</summary>
    Data,

    /// <summary>The body has ended; what is not consumed is the next request.</summary>
    Done,

    /// <summary>This is not chunked coding: answer 400 where that is still possible, and close.</summary>
    Refused,
}
