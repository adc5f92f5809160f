using System.Buffers.Binary;
using Millrace.Quic.Protection;

namespace Millrace.Tests.Shared;

/// <summary>
/// Packet protection for tests: a XOR with a key stream, and a keyed checksum as the tag, so that a changed byte, a wrong key, a wrong
/// packet number and a wrong header are found. It throws where its owner errs: a packet number sealed twice, a use after disposal.
/// Without state but its keys, two of the same key are the two ends of one direction.
/// </summary>
internal sealed class PlainProtector : PacketProtector
{
    private readonly ulong _key;
    private readonly ulong _headerKey;
    private readonly ProtectorCounts _counts;
    private long _lastSealed = -1;
    private bool _isDisposed;

    public PlainProtector(ulong key, ProtectorCounts? counts = null)
        : this(key, WordHash.Mix(~key), 0, counts ?? new ProtectorCounts())
    {
    }

    private PlainProtector(ulong key, ulong headerKey, int generation, ProtectorCounts counts)
    {
        _key = key;
        _headerKey = headerKey;
        Generation = generation;
        _counts = counts;
        _counts.Live++;
    }

    /// <summary>How many key updates came before.</summary>
    public int Generation { get; }

    /// <summary>The first packet takes no longer to open than later ones.</summary>
    public bool IsPreparedToOpen { get; private set; }

    public override long ConfidentialityLimit => _counts.ConfidentialityLimit;

    public override long IntegrityLimit => _counts.IntegrityLimit;

    public override void Seal(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        if (packetNumber <= _lastSealed)
        {
            throw new InvalidOperationException($"Packet number {packetNumber} after {_lastSealed}: a nonce must not be used again.");
        }

        _lastSealed = packetNumber;
        _counts.Sealed++;
        Span<byte> payload = payloadAndTag[..^TagLength];
        ApplyKeyStream(packetNumber, payload);
        WriteTag(packetNumber, header, payload, payloadAndTag[^TagLength..]);
    }

    /// <summary>As with real ciphers, bytes that are not authentic are garbled afterwards.</summary>
    public override bool TryOpen(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        if (payloadAndTag.Length < TagLength)
        {
            throw new ArgumentException("A payload is no shorter than its tag.", nameof(payloadAndTag));
        }

        Span<byte> payload = payloadAndTag[..^TagLength];
        Span<byte> tag = stackalloc byte[TagLength];
        WriteTag(packetNumber, header, payload, tag);
        ApplyKeyStream(packetNumber, payload);
        bool isAuthentic = tag.SequenceEqual(payloadAndTag[^TagLength..]);
        _counts.OpenedUnprepared += IsPreparedToOpen ? 0 : 1;
        _counts.Opened += isAuthentic ? 1 : 0;
        _counts.Refused += isAuthentic ? 0 : 1;
        return isAuthentic;
    }

    public override void GetHeaderMask(ReadOnlySpan<byte> sample, Span<byte> mask)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        _counts.Masks++;
        ulong value = WordHash.Of(_headerKey, sample[..SampleLength]);
        for (int i = 0; i < MaskLength; i++)
        {
            mask[i] = (byte)(value >> (8 * i));
        }
    }

    public override void PrepareToOpen()
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        IsPreparedToOpen = true;
    }

    public override PacketProtector Update()
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        _counts.Derived++;
        return new PlainProtector(WordHash.Mix(_key), _headerKey, Generation + 1, _counts);
    }

    public override void Dispose()
    {
        _counts.Live -= _isDisposed ? 0 : 1;
        _isDisposed = true;
    }

    private void ApplyKeyStream(long packetNumber, Span<byte> bytes)
    {
        ulong counter = _key ^ WordHash.Mix((ulong)packetNumber);
        while (bytes.Length >= sizeof(ulong))
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(bytes) ^ WordHash.Mix(counter++);
            BinaryPrimitives.WriteUInt64LittleEndian(bytes, word);
            bytes = bytes[sizeof(ulong)..];
        }

        ulong last = WordHash.Mix(counter);
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] ^= (byte)(last >> (8 * i));
        }
    }

    private void WriteTag(long packetNumber, ReadOnlySpan<byte> header, ReadOnlySpan<byte> payload, Span<byte> tag)
        => WordHash.Write(WordHash.Of(_key ^ WordHash.Mix(~(ulong)packetNumber), header), payload, tag);
}

/// <summary>What all protectors of one test double did, and their limits.</summary>
internal sealed class ProtectorCounts
{
    /// <summary>Protectors that nobody has disposed of.</summary>
    public long Live { get; set; }

    public long Sealed { get; set; }

    public long Opened { get; set; }

    /// <summary>Packets that were not authentic.</summary>
    public long Refused { get; set; }

    /// <summary>Attempts to open a packet with keys that were not prepared for it.</summary>
    public long OpenedUnprepared { get; set; }

    /// <summary>Masks of headers.</summary>
    public long Masks { get; set; }

    /// <summary>Keys of a next generation that were derived.</summary>
    public long Derived { get; set; }

    public long ConfidentialityLimit { get; set; } = 1L << 23;

    public long IntegrityLimit { get; set; } = 1L << 52;
}
