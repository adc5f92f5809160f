namespace Millrace.Tls.Handshakes;

/// <summary>
/// Handshake bytes that OpenSSL has not got yet: part of a ClientHello, or input of a deferred step. Its memory is the bytes' size, rounded
/// up; none while it is empty. Reactor thread only.
/// </summary>
internal struct HandshakeInput
{
    /// <summary>A partial hello arrives in two or three pieces: each is copied once or twice.</summary>
    private const int StepBytes = 64;

    private byte[]? _bytes;
    private int _count;

    public readonly int Count => _count;

    /// <summary>The size of its memory.</summary>
    public readonly int HeldBytes => _bytes?.Length ?? 0;

    public readonly ReadOnlySpan<byte> Bytes => new(_bytes, 0, _count);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return;
        }

        int needed = _count + bytes.Length;
        if (_bytes is null || needed > _bytes.Length)
        {
            // Grows by a quarter, so that bytes that arrive one by one are copied a limited number of times.
            int size = _count == 0 ? needed : Math.Max(needed, _count + (_count / 4));
            Array.Resize(ref _bytes, (size + StepBytes - 1) / StepBytes * StepBytes);
        }

        bytes.CopyTo(_bytes.AsSpan(_count));
        _count = needed;
    }

    public void Clear()
    {
        _bytes = null;
        _count = 0;
    }
}
