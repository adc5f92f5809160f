namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>Which bytes of a file a head promises.</summary>
internal enum BodyExtent : byte
{
    /// <summary>All there are: until the head is sent, it can be said anew of as many as are read.</summary>
    Whole,

    /// <summary>Those that Content-Range names: no others will do.</summary>
    Range,
}
