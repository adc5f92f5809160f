namespace Millrace.Web.Http2;

/// <summary>Where the next bytes of a body are.</summary>
internal enum BodyPiece : byte
{
    None,

    /// <summary>In an array.</summary>
    Text,

    /// <summary>In the snapshot's memory.</summary>
    Baked,

    /// <summary>In a file, from which they are read chunk by chunk.</summary>
    File,

    /// <summary>Before a range: its delimiter and its fields.</summary>
    PartHead,

    /// <summary>Behind the last range.</summary>
    PartsEnd,
}
