using System.Security.Cryptography;
using Millrace.Quic.Protection;
using Millrace.Tls.Records;

namespace Millrace.Tls.Quic;

/// <summary>
/// What one call of a handshake gives to OpenSSL, and what OpenSSL brings about within it: messages, secrets, parameters. They are
/// delivered after OpenSSL has returned, since no exception may cross it and since the receiver may dispose of the handshake. One for each
/// thread, and more where a receiver calls another handshake. One thread.
/// </summary>
internal sealed class HandshakeCall
{
    private const int BytesUsual = 16 * 1024;

    /// <summary>A record's header, its type and its tag.</summary>
    private const int RecordOverhead = 5 + 1 + AeadKey.TagLength;

    [ThreadStatic]
    private static HandshakeCall? Idle;

    private readonly List<HandshakeEvent> _events = [];
    private byte[] _bytes = GC.AllocateUninitializedArray<byte>(BytesUsual, pinned: true);
    private int _count;

    private HandshakeCall()
    {
    }

    /// <summary>Room for one record; it does not move.</summary>
    public byte[] Input { get; } =
        GC.AllocateUninitializedArray<byte>(RecordSizes.Most + RecordOverhead, pinned: true);

    /// <summary>The part of <see cref="Input"/> that OpenSSL has not taken.</summary>
    public int InputStart { get; set; }

    public int InputEnd { get; set; }

    /// <summary>What has come about; cleared by <see cref="Clear"/>.</summary>
    public int EventCount => _events.Count;

    public static HandshakeCall Rent()
    {
        HandshakeCall call = Idle ?? new HandshakeCall();
        Idle = null;
        return call;
    }

    public void Return()
    {
        Clear();
        InputStart = InputEnd = 0;
        if (_bytes.Length == BytesUsual)
        {
            Idle = this;
        }
    }

    public HandshakeEvent EventAt(int index) => _events[index];

    public ReadOnlySpan<byte> BytesOf(HandshakeEvent from) => _bytes.AsSpan(from.Offset, from.Length);

    public void Add(HandshakeEventKind kind, EncryptionLevel level, bool isForSending, ReadOnlySpan<byte> bytes)
    {
        if (_count + bytes.Length > _bytes.Length)
        {
            byte[] larger = GC.AllocateUninitializedArray<byte>(2 * (_count + bytes.Length), pinned: true);
            _bytes.AsSpan(0, _count).CopyTo(larger);
            CryptographicOperations.ZeroMemory(_bytes);
            _bytes = larger;
        }

        bytes.CopyTo(_bytes.AsSpan(_count));
        _events.Add(new HandshakeEvent(kind, level, isForSending, _count, bytes.Length));
        _count += bytes.Length;
    }

    /// <summary>Forgets all events and clears their secrets.</summary>
    public void Clear()
    {
        CryptographicOperations.ZeroMemory(_bytes.AsSpan(0, _count));
        _events.Clear();
        _count = 0;
    }
}

/// <summary>One event, whose bytes the call holds.</summary>
internal readonly record struct HandshakeEvent(
    HandshakeEventKind Kind, EncryptionLevel Level, bool IsForSending, int Offset, int Length);

/// <summary>What came about.</summary>
internal enum HandshakeEventKind : byte
{
    /// <summary>A message to send.</summary>
    Message,

    /// <summary>The secret of a level and a direction.</summary>
    Secret,

    /// <summary>The peer's transport parameters.</summary>
    Parameters,
}
