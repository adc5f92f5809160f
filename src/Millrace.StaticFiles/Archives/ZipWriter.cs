using System.IO.Compression;
using System.IO.Hashing;
using Millrace.StaticFiles.Compression;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// Writes a zip archive (APPNOTE 6.3.10) as a stream: the sizes and the checksum of a file follow it, in a data descriptor. It keeps all
/// entries for the central directory at the end, some 80 bytes for each.
/// </summary>
internal sealed class ZipWriter(ArchiveOutput output) : ArchiveWriter
{
    /// <summary>How much of the central directory is written at a time.</summary>
    private const int FinishBytes = 64 * 1024;

    private static readonly ZLibCompressionOptions NoGain = new() { CompressionLevel = 0 };

    private readonly List<ZipEntry> _entries = [];
    private readonly Crc32 _crc = new();
    private DeflateStream? _deflate;
    private long _contentAt;
    private int _finished;
    private long _directoryAt = -1;

    public override void Begin(in ArchiveEntry entry, long size)
    {
        long offset = output.TotalBytes;
        _entries.Add(new ZipEntry(entry, size, offset));
        ZipRecords.WriteLocalHeader(output, _entries[^1]);
        _contentAt = output.TotalBytes;
        if (size > 0)
        {
            _crc.Reset();
            bool gains = entry.File!.ContentType.IsCompressible;
            _deflate = new DeflateStream(output, gains ? BodyCoder.QuickGzip : NoGain, leaveOpen: true);
        }
    }

    public override void Write(ReadOnlySpan<byte> content)
    {
        _crc.Append(content);
        _deflate!.Write(content);
    }

    public override void End()
    {
        if (_deflate is null)
        {
            return;
        }

        _deflate.Dispose();
        _deflate = null;
        _entries[^1] = _entries[^1] with { Crc = _crc.GetCurrentHashAsUInt32(), CompressedSize = output.TotalBytes - _contentAt };
        ZipRecords.WriteDescriptor(output, _entries[^1]);
    }

    public override bool Finish()
    {
        if (_directoryAt < 0)
        {
            _directoryAt = output.TotalBytes;
        }

        long begin = output.TotalBytes;
        while (_finished < _entries.Count && output.TotalBytes - begin < FinishBytes)
        {
            ZipRecords.WriteCentralHeader(output, _entries[_finished++]);
        }

        if (_finished < _entries.Count)
        {
            return false;
        }

        ZipRecords.WriteEnd(output, _entries.Count, _directoryAt, output.TotalBytes - _directoryAt);
        return true;
    }

    public override void Dispose() => _deflate?.Dispose();
}

/// <summary>An entry of a zip archive. The checksum and the compressed size are known at its end.</summary>
internal readonly record struct ZipEntry(ArchiveEntry Entry, long Size, long Offset)
{
    public uint Crc { get; init; }

    public long CompressedSize { get; init; }
}
