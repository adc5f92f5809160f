namespace Millrace.Http;

/// <summary>What a percent-encoded path turned out to be.</summary>
internal enum PathResult : byte
{
    /// <summary>A path that may name something: no escapes, no dot segments, no empty segments.</summary>
    Ok,

    /// <summary>A '%' without two hexadecimal digits behind it: 400.</summary>
    BadEscape,

    /// <summary>A "%00", which would end the name for the kernel: 400.</summary>
    NulByte,

    /// <summary>A "%2F": data inside a segment, and no file's name has a slash in it: 404. It never becomes a separator.</summary>
    SlashInSegment,

    /// <summary>More ".." than segments before them: 400. RFC 3986 would stop at the root, but only an attacker asks for it.</summary>
    OutsideRoot,

    /// <summary>A "//": an empty segment names no file: 404. Merging would give one file many addresses. The path is still given.</summary>
    EmptySegment,
}
