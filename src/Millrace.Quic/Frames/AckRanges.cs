using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Frames;

/// <summary>
/// The ranges of an ACK frame, from the largest down (RFC 9000, section 19.3.1). They were checked when the frame was read, so
/// all are within 0 to the largest number and do not touch each other. Use it in foreach.
/// </summary>
internal readonly ref struct AckRanges
{
    private readonly ReadOnlySpan<byte> _gapsAndLengths;

    private AckRanges(PacketRange first, long count, ReadOnlySpan<byte> gapsAndLengths)
    {
        First = first;
        Count = count;
        _gapsAndLengths = gapsAndLengths;
    }

    /// <summary>The range of the largest numbers.</summary>
    public PacketRange First { get; }

    /// <summary>Of ranges; at least 1.</summary>
    public long Count { get; }

    public long LargestAcknowledged => First.Largest;

    public Enumerator GetEnumerator() => new(this);

    /// <summary>Reads and checks what follows the ACK Delay field: range count, first range, ranges.</summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, long largest, out AckRanges ranges, out int length)
    {
        ranges = default;
        length = 0;
        if (!VariableLengthInteger.TryRead(bytes, out long count, out int countLength)
            || !VariableLengthInteger.TryRead(bytes[countLength..], out long first, out int firstLength)
            || first > largest)
        {
            return false;
        }

        ReadOnlySpan<byte> rest = bytes[(countLength + firstLength)..];
        var range = new PacketRange(largest - first, largest);
        var all = range;

        // Each range takes two bytes at least: a count beyond them ends here, not in the loop.
        if (count > rest.Length / 2)
        {
            return false;
        }

        int offset = 0;
        for (long i = 0; i < count; i++)
        {
            if (!TryReadNext(rest, ref offset, ref range))
            {
                return false;
            }
        }

        ranges = new AckRanges(all, count + 1, rest[..offset]);
        length = countLength + firstLength + offset;
        return true;
    }

    private static bool TryReadNext(ReadOnlySpan<byte> bytes, ref int offset, ref PacketRange range)
    {
        if (!VariableLengthInteger.TryRead(bytes[offset..], out long gap, out int gapLength)
            || !VariableLengthInteger.TryRead(bytes[(offset + gapLength)..], out long length, out int lengthLength))
        {
            return false;
        }

        // A gap of 0 is one number that was not received.
        long largest = range.Smallest - gap - 2;
        if (largest < 0 || length > largest)
        {
            return false;
        }

        offset += gapLength + lengthLength;
        range = new PacketRange(largest - length, largest);
        return true;
    }

    internal ref struct Enumerator : IAckRanges
    {
        private readonly ReadOnlySpan<byte> _gapsAndLengths;
        private PacketRange _range;
        private int _offset;
        private bool _hasBegun;

        public Enumerator(AckRanges ranges)
        {
            _gapsAndLengths = ranges._gapsAndLengths;
            _range = ranges.First;
            _hasBegun = ranges.Count == 0;
        }

        public readonly PacketRange Current => _range;

        public bool MoveNext()
        {
            if (!_hasBegun)
            {
                _hasBegun = true;
                return true;
            }

            return TryReadNext(_gapsAndLengths, ref _offset, ref _range);
        }

        public bool TryRead(out PacketRange range)
        {
            bool isThere = MoveNext();
            range = _range;
            return isThere;
        }
    }
}
