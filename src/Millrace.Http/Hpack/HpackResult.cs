namespace Millrace.Http;

/// <summary>
/// What became of a field block. All but Ok end the connection with COMPRESSION_ERROR (RFC 9113 section 4.3): what the table is
/// after it, nobody knows.
/// </summary>
internal enum HpackResult : byte
{
    Ok,

    /// <summary>The block ends within a representation.</summary>
    Truncated,

    /// <summary>An integer above 2^31-1, or spelled in more than five bytes behind its prefix (RFC 7541 section 5.1).</summary>
    IntegerOverflow,

    /// <summary>Index 0, or one beyond both tables (sections 2.3.3 and 6.1).</summary>
    BadIndex,

    /// <summary>A string that holds EOS, or padding that is longer than 7 bits or not of ones (section 5.2).</summary>
    BadHuffman,

    /// <summary>A size above the limit, or behind a field (sections 4.2 and 6.3).</summary>
    BadSizeUpdate,

    /// <summary>The limit was lowered and acknowledged, and the next block does not begin by obeying (RFC 9113 section 4.3.1).</summary>
    MissingSizeUpdate,
}
