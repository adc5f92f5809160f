namespace Millrace.Server.Tests.Proxying.Kit;

/// <summary>Bytes of a length that a client does not know, so that it sends chunks; remembers whether it was read.</summary>
internal sealed class OneWayStream(byte[] bytes) : Stream
{
    private int _at;

    public bool IsRead => _at > 0;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => _at;
        set => throw new NotSupportedException();
    }

    public override int Read(byte[] buffer, int offset, int count)
    {
        int taken = Math.Min(Math.Min(count, 7_919), bytes.Length - _at);
        bytes.AsSpan(_at, taken).CopyTo(buffer.AsSpan(offset));
        _at += taken;
        return taken;
    }

    public override void Flush()
    {
    }

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
