using System.IO.Compression;
using Millrace.StaticFiles.Compression;

namespace Millrace.StaticFiles.Archives;

/// <summary>Writes a tar archive in gzip.</summary>
internal sealed class TarGzipWriter(ArchiveOutput output) : ArchiveWriter
{
    private static readonly byte[] Zeros = new byte[2 * TarHeader.BlockBytes];

    private readonly GZipStream _gzip = new(output, BodyCoder.QuickGzip, leaveOpen: true);
    private long _size;

    public override void Begin(in ArchiveEntry entry, long size)
    {
        _size = size;
        _gzip.Write(TarHeader.Of(entry.Name(), size, entry.File is null, entry.ModifiedAtSeconds));
    }

    public override void Write(ReadOnlySpan<byte> content) => _gzip.Write(content);

    public override void End() => _gzip.Write(Zeros.AsSpan(0, TarHeader.PaddingBytes(_size)));

    /// <summary>Two empty blocks end an archive.</summary>
    public override bool Finish()
    {
        _gzip.Write(Zeros);
        _gzip.Dispose();
        return true;
    }

    public override void Dispose() => _gzip.Dispose();
}
