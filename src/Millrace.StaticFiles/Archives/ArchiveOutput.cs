using System.Buffers;

namespace Millrace.StaticFiles.Archives;

/// <summary>The bytes of an archive that are not sent yet, in one array. One thread at a time.</summary>
internal sealed class ArchiveOutput : Stream, IBufferWriter<byte>
{
    private byte[] _bytes = new byte[16 * 1024];
    private int _count;

    public override bool CanRead => false;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => _count;

    public override long Position { get => TotalBytes; set => throw new NotSupportedException(); }

    /// <summary>All that was ever written.</summary>
    public long TotalBytes { get; private set; }

    /// <summary>What was written since the last <see cref="Clear"/>.</summary>
    public ReadOnlyMemory<byte> Written => _bytes.AsMemory(0, _count);

    public void Clear() => _count = 0;

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        buffer.CopyTo(GetSpan(buffer.Length));
        Advance(buffer.Length);
    }

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    public void Advance(int count)
    {
        _count += count;
        TotalBytes += count;
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        int wanted = _count + Math.Max(1, sizeHint);
        if (_bytes.Length < wanted)
        {
            Array.Resize(ref _bytes, Math.Max(wanted, 2 * _bytes.Length));
        }

        return _bytes.AsMemory(_count);
    }

    public override void Flush()
    {
        // Everything is where its reader takes it.
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();
}
