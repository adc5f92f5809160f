namespace Millrace.StaticFiles.Archives;

/// <summary>Writes the entries of an archive one after the other into an <see cref="ArchiveOutput"/>. One thread at a time.</summary>
internal abstract class ArchiveWriter : IDisposable
{
    public static ArchiveWriter Of(ArchiveFormats format, ArchiveOutput output) =>
        format == ArchiveFormats.Zip ? new ZipWriter(output) : new TarGzipWriter(output);

    /// <summary>Begins an entry.</summary>
    /// <param name="entry">The entry.</param>
    /// <param name="size">The bytes that follow by <see cref="Write"/>; 0 for a directory.</param>
    public abstract void Begin(in ArchiveEntry entry, long size);

    public abstract void Write(ReadOnlySpan<byte> content);

    /// <summary>Ends the entry, after all of its bytes.</summary>
    public abstract void End();

    /// <summary>Writes a part of what follows the last entry; true if it was the last part.</summary>
    public abstract bool Finish();

    /// <summary>Releases native memory, before the end too.</summary>
    public abstract void Dispose();
}
