using System.Buffers.Text;
using System.Globalization;
using System.Text;
using System.Text.Unicode;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// Makes the header of a tar entry in the pax format (POSIX.1-2024, pax, "ustar Interchange Format"): 512 bytes, after an extended header
/// if the name is long or not ASCII, or a number is large. Owner and group are 0, so that unpacking as root gives nothing away.
/// </summary>
internal static class TarHeader
{
    public const int BlockBytes = 512;

    private const int NameBytesMax = 100;

    /// <summary>The largest number of 11 octal digits: 8 GiB - 1 as a size, the year 2242 as a time.</summary>
    private const long NumberMax = 0x1_ffff_ffff;

    private const byte FileType = (byte)'0';
    private const byte DirectoryType = (byte)'5';
    private const byte ExtendedType = (byte)'x';

    /// <summary>The bytes that fill the last block of an entry's content.</summary>
    public static int PaddingBytes(long size) => (int)(-size & (BlockBytes - 1));

    /// <param name="name">The name; with '/' at the end for a directory.</param>
    /// <param name="size">The length of the content.</param>
    /// <param name="isDirectory">Whether it is a directory.</param>
    /// <param name="modifiedAt">Seconds since 1970.</param>
    public static byte[] Of(ReadOnlySpan<byte> name, long size, bool isDirectory, long modifiedAt)
    {
        byte[] records = ExtendedRecords(name, size, modifiedAt);
        int extended = records.Length == 0 ? 0 : BlockBytes + records.Length + PaddingBytes(records.Length);
        byte[] header = new byte[extended + BlockBytes];
        if (extended > 0)
        {
            Write(header, "PaxHeaders/entry"u8, records.Length, ExtendedType, modifiedAt);
            records.CopyTo(header, BlockBytes);
        }

        Write(header.AsSpan(extended), name, size, isDirectory ? DirectoryType : FileType, modifiedAt);
        return header;
    }

    private static void Write(Span<byte> block, ReadOnlySpan<byte> name, long size, byte type, long modifiedAt)
    {
        // A reader that ignores the extended header sees the beginning of the name.
        name[..Math.Min(name.Length, NameBytesMax)].CopyTo(block);
        WriteOctal(block.Slice(100, 8), type == DirectoryType ? 0x1ed : 0x1a4);
        WriteOctal(block.Slice(108, 8), 0);
        WriteOctal(block.Slice(116, 8), 0);
        WriteOctal(block.Slice(124, 12), size > NumberMax ? 0 : size);
        WriteOctal(block.Slice(136, 12), Math.Clamp(modifiedAt, 0, NumberMax));
        block.Slice(148, 8).Fill((byte)' ');
        block[156] = type;
        "ustar\0"u8.CopyTo(block[257..]);
        "00"u8.CopyTo(block[263..]);
        WriteOctal(block.Slice(329, 8), 0);
        WriteOctal(block.Slice(337, 8), 0);
        int sum = 0;
        foreach (byte value in block[..BlockBytes])
        {
            sum += value;
        }

        // Six digits, NUL and the space that is there.
        WriteOctal(block.Slice(148, 7), sum);
    }

    /// <summary>Writes octal digits that fill a field but for its last byte, which stays NUL.</summary>
    private static void WriteOctal(Span<byte> field, long value)
    {
        field[^1] = 0;
        for (int i = field.Length - 2; i >= 0; i--)
        {
            field[i] = (byte)('0' + (value & 7));
            value >>= 3;
        }
    }

    private static byte[] ExtendedRecords(ReadOnlySpan<byte> name, long size, long modifiedAt)
    {
        var records = new ArchiveRecords();
        bool isText = Utf8.IsValid(name);
        if (name.Length > NameBytesMax || (isText && !Ascii.IsValid(name)))
        {
            if (!isText)
            {
                // The name is bytes, as in the file system.
                records.Add("hdrcharset"u8, "BINARY"u8);
            }

            records.Add("path"u8, name);
        }

        if (size > NumberMax)
        {
            records.Add("size"u8, size);
        }

        if (modifiedAt is < 0 or > NumberMax)
        {
            records.Add("mtime"u8, modifiedAt);
        }

        return [.. records.Bytes];
    }

    /// <summary>Records of an extended header: "LENGTH KEYWORD=VALUE\n", where the length includes its own digits.</summary>
    private sealed class ArchiveRecords
    {
        public List<byte> Bytes { get; } = [];

        public void Add(ReadOnlySpan<byte> keyword, long value)
        {
            Span<byte> digits = stackalloc byte[20];
            _ = Utf8Formatter.TryFormat(value, digits, out int count);
            Add(keyword, digits[..count]);
        }

        public void Add(ReadOnlySpan<byte> keyword, ReadOnlySpan<byte> value)
        {
            int others = keyword.Length + value.Length + " =\n"u8.Length;
            int length = others;
            while (length != others + length.ToString(CultureInfo.InvariantCulture).Length)
            {
                length = others + length.ToString(CultureInfo.InvariantCulture).Length;
            }

            Bytes.AddRange(Encoding.ASCII.GetBytes(length.ToString(CultureInfo.InvariantCulture)));
            Bytes.Add((byte)' ');
            Bytes.AddRange(keyword);
            Bytes.Add((byte)'=');
            Bytes.AddRange(value);
            Bytes.Add((byte)'\n');
        }
    }
}
