using System.Buffers.Binary;
using System.IO.Compression;
using System.IO.Hashing;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Gzip (RFC 1952), of one member. GZipStream would do for other purposes: it accepts a file that is cut, bytes after the end, and further
/// members, of which Chromium shows only the first.
/// </summary>
internal sealed class GzipBodyDecoder : BodyDecoder
{
    /// <summary>The checksum and the length, after the data.</summary>
    private const int TrailerBytes = 8;

    private const int Deflate = 8;

    private readonly DeflateSource _source;
    private readonly DeflateStream _decoder;
    private readonly Crc32 _checksum = new();
    private bool _hasHeader;
    private uint _decodedBytes;

    public GzipBodyDecoder(AssetStream source)
    {
        _source = new DeflateSource(source, source.Remaining - TrailerBytes);
        _decoder = new DeflateStream(_source, CompressionMode.Decompress, leaveOpen: true);
    }

    public override int Read(Span<byte> room)
    {
        if (!_hasHeader && !TryPassHeader())
        {
            Verdict = _source.IsShort ? SiblingVerdict.Incomplete : SiblingVerdict.Invalid;
            return 0;
        }

        int count;
        try
        {
            count = _decoder.Read(room);
        }
        catch (InvalidDataException)
        {
            Verdict = SiblingVerdict.Invalid;
            return 0;
        }

        if (count == 0)
        {
            Verdict = _source.IsShort ? SiblingVerdict.Incomplete
                : _source.Remaining > 0 ? SiblingVerdict.Extended
                : IsTrailerRight() ? SiblingVerdict.Proven
                : SiblingVerdict.Invalid;
            return 0;
        }

        _checksum.Append(room[..count]);
        _decodedBytes += (uint)count;
        return count;
    }

    protected override void Dispose(bool disposing)
    {
        _decoder.Dispose();
        _source.Dispose();
    }

    /// <summary>Section 2.3: ten bytes, then what the flags announce. Undefined flags announce what nobody can pass.</summary>
    private bool TryPassHeader()
    {
        const int Checksum = 2, Extra = 4, Name = 8, Comment = 16, Undefined = 0xe0;
        Span<byte> start = stackalloc byte[10];
        if (!TryTake(start))
        {
            return false;
        }

        int flags = start[3];
        _hasHeader = start[0] == 0x1f && start[1] == 0x8b && start[2] == Deflate && (flags & Undefined) == 0
            && ((flags & Extra) == 0 || TryPassExtra())
            && ((flags & Name) == 0 || TryPassText())
            && ((flags & Comment) == 0 || TryPassText())
            && ((flags & Checksum) == 0 || TryTake(stackalloc byte[sizeof(ushort)]));
        return _hasHeader;
    }

    private bool TryPassExtra()
    {
        Span<byte> length = stackalloc byte[sizeof(ushort)];
        return TryTake(length) && TryTake(new byte[BinaryPrimitives.ReadUInt16LittleEndian(length)]);
    }

    private bool TryPassText()
    {
        Span<byte> one = stackalloc byte[1];
        while (TryTake(one))
        {
            if (one[0] == 0)
            {
                return true;
            }
        }

        return false;
    }

    private bool IsTrailerRight()
    {
        Span<byte> trailer = stackalloc byte[TrailerBytes];
        _source.Extend(TrailerBytes);
        return TryTake(trailer)
            && BinaryPrimitives.ReadUInt32LittleEndian(trailer) == _checksum.GetCurrentHashAsUInt32()
            && BinaryPrimitives.ReadUInt32LittleEndian(trailer[sizeof(uint)..]) == _decodedBytes;
    }

    private bool TryTake(Span<byte> bytes) => _source.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false) == bytes.Length;

    /// <summary>
    /// A file up to its trailer. The last byte is only given alone: data that ends before it has not asked for it, and data that is cut
    /// asks for more.
    /// </summary>
    private sealed class DeflateSource(AssetStream source, long bytes) : Stream
    {
        private readonly byte[] _piece = new byte[PieceBytes];
        private int _at;
        private int _end;

        public long Remaining { get; private set; } = bytes;

        /// <summary>Whether more was asked for than there is.</summary>
        public bool IsShort { get; private set; }

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public void Extend(int count) => Remaining += count;

        public override int Read(Span<byte> buffer)
        {
            if (_at == _end && Remaining > 0)
            {
                (_at, _end) = (0, source.Read(_piece));
            }

            int count = (int)Math.Min(Math.Min(buffer.Length, _end - _at), Math.Max(Remaining, 0));
            count = count == Remaining && count > 1 ? count - 1 : count;
            IsShort |= count == 0 && !buffer.IsEmpty;
            _piece.AsSpan(_at, count).CopyTo(buffer);
            _at += count;
            Remaining -= count;
            return count;
        }

        public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
    }
}
