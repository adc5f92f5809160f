namespace Millrace.StaticFiles.Planning;

/// <summary>Which bytes of a file a head promises.</summary>
internal enum BodyExtent : byte
{
    /// <summary>All there are: a head can still be rewritten for as many as are read.</summary>
    Whole,

    /// <summary>Those that Content-Range names, which may be all of them: no others will do.</summary>
    Range,

    /// <summary>Several ranges, each behind a head of its own.</summary>
    Ranges,
}
