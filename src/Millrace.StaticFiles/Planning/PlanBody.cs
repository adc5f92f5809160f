namespace Millrace.StaticFiles.Planning;

/// <summary>What an answer is made of. For HEAD it is the same, and the front leaves the bytes out (RFC 9110, section 9.3.2).</summary>
internal enum PlanBody
{
    /// <summary>Nothing: 204 and 304.</summary>
    None,

    /// <summary>A line of text that names the status.</summary>
    StatusText,

    /// <summary>The plan's asset, whole. With an error status it is that error's page.</summary>
    Asset,

    /// <summary>The plan's ranges of its asset: one as it is, several as multipart/byteranges.</summary>
    Ranges,

    /// <summary>The plan's document: a directory's listing.</summary>
    Document,
}
