namespace Millrace.Http;

/// <summary>Whether a response's head may be sent.</summary>
internal enum ResponseHeadResult : byte
{
    Ok,

    /// <summary>The span was too small. Nothing was written past it.</summary>
    TooLarge,

    /// <summary>
    /// A name or value holds bytes that no field may hold; a CR or LF there would let its author write fields or a whole
    /// response.
    /// </summary>
    UnsafeField,
}
