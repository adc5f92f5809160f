namespace Millrace.StaticFiles.Catalog;

/// <summary>Where the bytes of an asset are when they are asked for.</summary>
internal enum BodyStrategy : byte
{
    /// <summary>In native memory, owned by the snapshot.</summary>
    Baked,

    /// <summary>In the file; small enough for one read, sent behind the head.</summary>
    Ring,

    /// <summary>In the file; sent in chunks.</summary>
    Stream,

    /// <summary>As <see cref="Stream"/>; where the way to the peer lets them, pages go by reference.</summary>
    SendFile,
}
