using Millrace.Quic.Frames;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Streams;

/// <summary>
/// The handshake messages of one packet number space in both directions: CRYPTO frames have no flow control and no end (RFC 9000,
/// section 7.5). The connection owns it, and disposes of it when the keys are discarded. Errors of the peer are returned. One thread.
/// </summary>
/// <param name="space">The one whose packets carry it.</param>
/// <param name="pool">Of its thread; its limit does not apply.</param>
/// <param name="bufferBytesMax">Limit of bytes that were not consumed and of those missing between them; at least 4096.</param>
internal sealed class CryptoStream(PacketSpace space, BlockPool pool, int bufferBytesMax = CryptoStream.BufferBytesMaxDefault) : IDisposable
{
    /// <summary>A long chain of certificates, and more than the 4096 bytes that section 7.5 asks for.</summary>
    public const int BufferBytesMaxDefault = 64 * 1024;

    private readonly SendBuffer _sent = new(pool);
    private readonly ReassemblyBuffer _received = new(pool);
    private bool _isDisposed;

    public bool HasFrames => _sent.HasLost || _sent.UnsentBytes > 0;

    /// <summary>The peer has acknowledged all that was written.</summary>
    public bool IsAcknowledged => _sent.IsAcknowledged;

    /// <summary>Bytes that were written and not sent.</summary>
    public long UnsentBytes => _sent.UnsentBytes;

    /// <summary>Bytes were received that are not consumed.</summary>
    public bool HasUnread => _received.BufferedBytes > 0;

    public QuicError? Receive(long offset, ReadOnlySpan<byte> bytes)
    {
        if (_isDisposed)
        {
            return null;
        }

        if (offset + bytes.Length - _received.Start > bufferBytesMax)
        {
            return new QuicError(TransportErrorCode.CryptoBufferExceeded, "too many bytes are out of order", FrameType.Crypto);
        }

        return _received.TryInsert(offset, bytes)
            ? null
            : new QuicError(TransportErrorCode.CryptoBufferExceeded, "too many gaps", FrameType.Crypto);
    }

    /// <summary>The next bytes in order, as many as lie together, valid until they are consumed.</summary>
    public bool TryRead(out ReadOnlySpan<byte> bytes) => _received.TryRead(out bytes);

    public void Consume(int count) => _received.Consume(count);

    public void Write(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty && !_isDisposed)
        {
            bytes = bytes[_sent.Write(bytes)..];
        }
    }

    /// <summary>Writes what fits.</summary>
    public void WriteFrames(ref FrameWriter writer, SentFrameList sent)
    {
        while (_sent.TryGetNext(long.MaxValue, out long offset, out long length))
        {
            int count = (int)Math.Min(length, writer.MaximumCryptoData(offset));
            if (count <= 0 || !writer.TryBeginCrypto(offset, count, out Span<byte> bytes))
            {
                return;
            }

            _sent.CopyTo(offset, bytes);
            _sent.OnSent(offset, count);
            sent.Add(SentFrame.Crypto(space, offset, count));
        }
    }

    public void OnAcked(in SentFrame frame)
    {
        if (!_isDisposed)
        {
            _sent.OnAcked(frame.Offset, frame.Length);
        }
    }

    public void OnLost(in SentFrame frame)
    {
        if (!_isDisposed)
        {
            _sent.OnLost(frame.Offset, frame.Length);
        }
    }

    /// <summary>Returns the blocks. What comes after is ignored.</summary>
    public void Dispose()
    {
        _isDisposed = true;
        _sent.Clear();
        _received.Clear();
    }
}
