namespace Millrace.Http;

/// <summary>What a Range field comes to (RFC 9110 section 14.2).</summary>
internal enum RangeOutcome
{
    /// <summary>It is absent or to be ignored: 200.</summary>
    Whole,

    /// <summary>206: one range by itself, several as multipart/byteranges.</summary>
    Partial,

    /// <summary>416.</summary>
    Unsatisfiable,
}
