namespace Millrace.Web.Http2;

/// <summary>What a read of a file has brought, beside what was expected of it.</summary>
internal enum ChunkState : byte
{
    /// <summary>Bytes, with more to come.</summary>
    Next,

    /// <summary>All the bytes that were promised, to the last.</summary>
    Last,

    /// <summary>More than the file should hold.</summary>
    Long,

    /// <summary>Nothing: the file ends before it should.</summary>
    Short,

    /// <summary>The disk does not give it.</summary>
    Unreadable,
}
