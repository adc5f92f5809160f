namespace Millrace.Http;

/// <summary>Why a chunked body is refused.</summary>
internal enum ChunkedRefusal : byte
{
    None,
    BadSize,
    SizeTooLarge,
    BadExtension,
    ExtensionsTooLong,
    BareCr,
    BareLf,
    MissingChunkEnd,
    BadTrailer,
    TrailersTooLong,
}
