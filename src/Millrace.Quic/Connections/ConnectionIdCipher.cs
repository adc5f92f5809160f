using System.Buffers.Binary;

namespace Millrace.Quic.Connections;

/// <summary>
/// A keyed permutation of connection ids of 8 bytes, which classic BPF can compute as well (<c>DatagramSteering</c> of Millrace.Engine): a
/// Feistel network of 6 rounds, whose function multiplies. It hides which of a few endpoints an id names, at most 8 bits, from those who
/// see ids and do not know the key (RFC 9000, section 5.1). It protects nothing else. Immutable.
/// </summary>
internal sealed class ConnectionIdCipher
{
    /// <summary>Two words for each round; the second of them is made odd.</summary>
    public const int KeyWords = 2 * Rounds;

    private const int Rounds = 6;
    private const int HalfWord = 16;

    private readonly uint[] _key;

    /// <summary><paramref name="key"/>: random, of <see cref="KeyWords"/> words.</summary>
    public ConnectionIdCipher(ReadOnlySpan<uint> key)
    {
        ArgumentOutOfRangeException.ThrowIfNotEqual(key.Length, KeyWords);
        _key = key.ToArray();
        for (int i = 1; i < KeyWords; i += 2)
        {
            _key[i] |= 1;
        }
    }

    /// <summary>The number that an id stands for, of its first 8 bytes.</summary>
    public uint NumberOf(ReadOnlySpan<byte> id)
    {
        uint before = BinaryPrimitives.ReadUInt32BigEndian(id);
        uint last = BinaryPrimitives.ReadUInt32BigEndian(id[sizeof(uint)..]);
        for (int i = 0; i < KeyWords; i += 2)
        {
            (before, last) = (last, before ^ Mix(last, i));
        }

        return last;
    }

    /// <summary>Writes the id of 8 bytes that stands for a number, one of 2^32, which <paramref name="random"/> chooses.</summary>
    public void Write(uint number, uint random, Span<byte> id)
    {
        (uint before, uint last) = (random, number);
        for (int i = KeyWords - 2; i >= 0; i -= 2)
        {
            (before, last) = (last ^ Mix(before, i), before);
        }

        BinaryPrimitives.WriteUInt32BigEndian(id, before);
        BinaryPrimitives.WriteUInt32BigEndian(id[sizeof(uint)..], last);
    }

    private uint Mix(uint word, int round)
    {
        uint product = (word ^ _key[round]) * _key[round + 1];
        return product ^ (product >> HalfWord);
    }
}
