using System.Buffers.Text;

namespace Millrace.Storm.Site;

/// <summary>
/// What a file holds: lines of 64 bytes, each with the file's number, the version, its own place, the whole length and a hash of
/// these. So any piece that has one whole line tells where it is from, and every other byte of it can be foretold.
/// </summary>
internal readonly record struct Edition(int File, int Version, long Length)
{
    public const int LineBytes = 64;

    private const int FileAt = 0, VersionAt = 9, LineAt = 18, LengthAt = 27, HashAt = 38;

    /// <summary>The bytes that stand at an offset.</summary>
    public void Fill(long offset, Span<byte> destination)
    {
        Span<byte> line = stackalloc byte[LineBytes];
        WriteTemplate(line);
        while (!destination.IsEmpty)
        {
            int within = (int)(offset % LineBytes);
            int count = Math.Min(LineBytes - within, destination.Length);
            WritePlace(line, offset / LineBytes);
            line.Slice(within, count).CopyTo(destination);
            destination = destination[count..];
            offset += count;
        }
    }

    public byte[] ToBytes()
    {
        byte[] bytes = new byte[Length];
        Fill(0, bytes);
        return bytes;
    }

    /// <summary>The first byte that does not stand there; -1 where all do.</summary>
    public long FirstDifference(long offset, ReadOnlySpan<byte> bytes)
    {
        Span<byte> expected = stackalloc byte[64 * LineBytes];
        long at = offset;
        while (!bytes.IsEmpty)
        {
            Span<byte> part = expected[..Math.Min(expected.Length, bytes.Length)];
            Fill(at, part);
            int same = part.CommonPrefixLength(bytes);
            if (same < part.Length || at + same > Length)
            {
                return Math.Min(at + same, Length);
            }

            bytes = bytes[part.Length..];
            at += part.Length;
        }

        return -1;
    }

    /// <summary>Where a piece of some file is from, by its first whole line.</summary>
    public static bool TryIdentify(long offset, ReadOnlySpan<byte> bytes, out Edition edition)
    {
        edition = default;
        int start = (int)((LineBytes - (offset % LineBytes)) % LineBytes);
        if (bytes.Length < start + LineBytes)
        {
            return false;
        }

        ReadOnlySpan<byte> line = bytes.Slice(start, LineBytes);
        if (!TryParse(line.Slice(FileAt, 8), out long file) || !TryParse(line.Slice(VersionAt, 8), out long version)
            || !TryParse(line.Slice(LengthAt, 10), out long length))
        {
            return false;
        }

        edition = new Edition((int)file, (int)version, length);
        return edition.FirstDifference(offset + start, line) < 0;
    }

    /// <summary>What all lines have in common.</summary>
    private void WriteTemplate(Span<byte> line)
    {
        line.Fill((byte)' ');
        Write(line.Slice(FileAt, 8), (ulong)File);
        Write(line.Slice(VersionAt, 8), (ulong)Version);
        Write(line.Slice(LengthAt, 10), (ulong)Length);
        line[LineBytes - 1] = (byte)'\n';
    }

    private void WritePlace(Span<byte> line, long index)
    {
        Write(line.Slice(LineAt, 8), (ulong)index);
        Write(line.Slice(HashAt, 16), Mix(((ulong)File << 40) ^ ((ulong)Version << 20) ^ (ulong)Length ^ Mix((ulong)index)));
    }

    private static void Write(Span<byte> digits, ulong value)
    {
        for (int i = digits.Length - 1; i >= 0; i--)
        {
            uint digit = (uint)value & 15;
            digits[i] = (byte)(digit < 10 ? '0' + digit : 'a' - 10 + digit);
            value >>= 4;
        }
    }

    private static bool TryParse(ReadOnlySpan<byte> text, out long value) =>
        Utf8Parser.TryParse(text, out value, out int read, 'x') && read == text.Length;

    /// <summary>The finalizer of SplitMix64.</summary>
    private static ulong Mix(ulong value)
    {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
