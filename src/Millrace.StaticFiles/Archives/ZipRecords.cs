using System.Buffers.Binary;
using System.Text;
using System.Text.Unicode;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// Writes the records of a zip archive (APPNOTE 6.3.10, sections 4.3 and 4.5). Numbers that do not fit their fields are in Zip64 records.
/// </summary>
internal static class ZipRecords
{
    private const uint Full = uint.MaxValue;
    private const ushort HasDescriptor = 1 << 3;
    private const ushort HasUtf8Name = 1 << 11;
    private const ushort Deflated = 8;

    /// <summary>Unix, so that the attributes are a mode; the specification's version 4.5 has Zip64.</summary>
    private const ushort MadeBy = (3 << 8) | Zip64Version;
    private const ushort Zip64Version = 45;

    /// <summary>From this size on a descriptor has 64 bits: deflate may need a little more than the content.</summary>
    private const long LargeSize = Full - (16 * 1024 * 1024);

    private const uint FileMode = 0x81a4;
    private const uint DirectoryMode = 0x41ed;
    private const uint DirectoryAttribute = 0x10;

    public static void WriteLocalHeader(ArchiveOutput output, in ZipEntry entry)
    {
        byte[] name = NameOf(entry);
        bool isLarge = IsLarge(entry);
        byte[] time = TimeExtra(entry);
        Span<byte> record = output.GetSpan(30);
        BinaryPrimitives.WriteUInt32LittleEndian(record, 0x04034b50);
        WriteCommon(record[4..], entry, name);

        // The checksum and the sizes are in the descriptor; an entry without content has none, and they are 0.
        record.Slice(14, 4).Clear();
        BinaryPrimitives.WriteUInt32LittleEndian(record[18..], isLarge ? Full : 0);
        BinaryPrimitives.WriteUInt32LittleEndian(record[22..], isLarge ? Full : 0);
        BinaryPrimitives.WriteUInt16LittleEndian(record[26..], (ushort)name.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(record[28..], (ushort)(time.Length + (isLarge ? 20 : 0)));
        output.Advance(30);
        output.Write(name);
        output.Write(time);
        if (isLarge)
        {
            WriteZip64Extra(output, [0, 0]);
        }
    }

    public static void WriteDescriptor(ArchiveOutput output, in ZipEntry entry)
    {
        Span<byte> record = output.GetSpan(24);
        BinaryPrimitives.WriteUInt32LittleEndian(record, 0x08074b50);
        BinaryPrimitives.WriteUInt32LittleEndian(record[4..], entry.Crc);
        if (IsLarge(entry))
        {
            BinaryPrimitives.WriteInt64LittleEndian(record[8..], entry.CompressedSize);
            BinaryPrimitives.WriteInt64LittleEndian(record[16..], entry.Size);
            output.Advance(24);
        }
        else
        {
            BinaryPrimitives.WriteUInt32LittleEndian(record[8..], (uint)entry.CompressedSize);
            BinaryPrimitives.WriteUInt32LittleEndian(record[12..], (uint)entry.Size);
            output.Advance(16);
        }
    }

    public static void WriteCentralHeader(ArchiveOutput output, in ZipEntry entry)
    {
        byte[] name = NameOf(entry);
        byte[] time = TimeExtra(entry);
        long[] large = [.. new[] { entry.Size, entry.CompressedSize, entry.Offset }.Where(static value => value >= Full)];
        Span<byte> record = output.GetSpan(46);
        BinaryPrimitives.WriteUInt32LittleEndian(record, 0x02014b50);
        BinaryPrimitives.WriteUInt16LittleEndian(record[4..], MadeBy);
        WriteCommon(record[6..], entry, name);
        if (large.Length > 0)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(record[6..], Zip64Version);
        }

        BinaryPrimitives.WriteUInt32LittleEndian(record[16..], entry.Crc);
        BinaryPrimitives.WriteUInt32LittleEndian(record[20..], Limited(entry.CompressedSize));
        BinaryPrimitives.WriteUInt32LittleEndian(record[24..], Limited(entry.Size));
        BinaryPrimitives.WriteUInt16LittleEndian(record[28..], (ushort)name.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(record[30..], (ushort)(time.Length + (large.Length > 0 ? 4 + (8 * large.Length) : 0)));

        // No comment, on disk 0, no internal attributes.
        record.Slice(32, 6).Clear();
        uint mode = entry.Entry.File is null ? (DirectoryMode << 16) | DirectoryAttribute : FileMode << 16;
        BinaryPrimitives.WriteUInt32LittleEndian(record[38..], mode);
        BinaryPrimitives.WriteUInt32LittleEndian(record[42..], Limited(entry.Offset));
        output.Advance(46);
        output.Write(name);
        output.Write(time);
        if (large.Length > 0)
        {
            WriteZip64Extra(output, large);
        }
    }

    public static void WriteEnd(ArchiveOutput output, int entries, long directoryAt, long directoryBytes)
    {
        if (entries >= ushort.MaxValue || directoryAt >= Full || directoryBytes >= Full)
        {
            WriteZip64End(output, entries, directoryAt, directoryBytes);
        }

        Span<byte> record = output.GetSpan(22);
        record[..22].Clear();
        BinaryPrimitives.WriteUInt32LittleEndian(record, 0x06054b50);
        BinaryPrimitives.WriteUInt16LittleEndian(record[8..], (ushort)Math.Min(entries, ushort.MaxValue));
        BinaryPrimitives.WriteUInt16LittleEndian(record[10..], (ushort)Math.Min(entries, ushort.MaxValue));
        BinaryPrimitives.WriteUInt32LittleEndian(record[12..], Limited(directoryBytes));
        BinaryPrimitives.WriteUInt32LittleEndian(record[16..], Limited(directoryAt));
        output.Advance(22);
    }

    private static void WriteZip64End(ArchiveOutput output, int entries, long directoryAt, long directoryBytes)
    {
        long at = output.TotalBytes;
        Span<byte> record = output.GetSpan(76);
        record[..76].Clear();
        BinaryPrimitives.WriteUInt32LittleEndian(record, 0x06064b50);
        BinaryPrimitives.WriteInt64LittleEndian(record[4..], 56 - 12);
        BinaryPrimitives.WriteUInt16LittleEndian(record[12..], MadeBy);
        BinaryPrimitives.WriteUInt16LittleEndian(record[14..], 45);
        BinaryPrimitives.WriteInt64LittleEndian(record[24..], entries);
        BinaryPrimitives.WriteInt64LittleEndian(record[32..], entries);
        BinaryPrimitives.WriteInt64LittleEndian(record[40..], directoryBytes);
        BinaryPrimitives.WriteInt64LittleEndian(record[48..], directoryAt);

        // The locator of this record, which is on the only disk.
        BinaryPrimitives.WriteUInt32LittleEndian(record[56..], 0x07064b50);
        BinaryPrimitives.WriteInt64LittleEndian(record[64..], at);
        BinaryPrimitives.WriteUInt32LittleEndian(record[72..], 1);
        output.Advance(76);
    }

    /// <summary>Writes what both headers of an entry have: version, flags, method, time and date.</summary>
    private static void WriteCommon(Span<byte> record, in ZipEntry entry, ReadOnlySpan<byte> name)
    {
        int flags = (entry.Size > 0 ? HasDescriptor : 0) | (Utf8.IsValid(name) && !Ascii.IsValid(name) ? HasUtf8Name : 0);
        BinaryPrimitives.WriteUInt16LittleEndian(record, IsLarge(entry) ? Zip64Version : (ushort)20);
        BinaryPrimitives.WriteUInt16LittleEndian(record[2..], (ushort)flags);
        BinaryPrimitives.WriteUInt16LittleEndian(record[4..], entry.Size > 0 ? Deflated : (ushort)0);
        (ushort time, ushort date) = DosTime(entry.Entry.ModifiedAtNs);
        BinaryPrimitives.WriteUInt16LittleEndian(record[6..], time);
        BinaryPrimitives.WriteUInt16LittleEndian(record[8..], date);
    }

    private static void WriteZip64Extra(ArchiveOutput output, ReadOnlySpan<long> values)
    {
        Span<byte> extra = output.GetSpan(4 + (8 * values.Length));
        BinaryPrimitives.WriteUInt16LittleEndian(extra, 1);
        BinaryPrimitives.WriteUInt16LittleEndian(extra[2..], (ushort)(8 * values.Length));
        for (int i = 0; i < values.Length; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(extra[(4 + (8 * i))..], values[i]);
        }

        output.Advance(4 + (8 * values.Length));
    }

    /// <summary>The name. Windows takes '\' for a separator, which would lead elsewhere.</summary>
    private static byte[] NameOf(in ZipEntry entry)
    {
        byte[] name = entry.Entry.Name();
        name.AsSpan().Replace((byte)'\\', (byte)'_');
        return name;
    }

    /// <summary>The time in UTC: "UT", the extended timestamp of Info-ZIP; empty if it does not fit.</summary>
    private static byte[] TimeExtra(in ZipEntry entry)
    {
        long seconds = entry.Entry.ModifiedAtSeconds;
        if (seconds is < 0 or > int.MaxValue)
        {
            return [];
        }

        byte[] extra = [(byte)'U', (byte)'T', 5, 0, 1, 0, 0, 0, 0];
        BinaryPrimitives.WriteInt32LittleEndian(extra.AsSpan(5), (int)seconds);
        return extra;
    }

    /// <summary>The time as DOS has it, in steps of two seconds from 1980 to 2107: without a zone, here UTC.</summary>
    private static (ushort Time, ushort Date) DosTime(long modifiedAtNs)
    {
        DateTime time = DateTime.UnixEpoch.AddTicks(modifiedAtNs / TimeSpan.NanosecondsPerTick);
        time = time.Year < 1980 ? new DateTime(1980, 1, 1, 0, 0, 0, DateTimeKind.Utc)
            : time.Year > 2107 ? new DateTime(2107, 12, 31, 23, 59, 58, DateTimeKind.Utc)
            : time;
        return ((ushort)((time.Hour << 11) | (time.Minute << 5) | (time.Second / 2)),
            (ushort)(((time.Year - 1980) << 9) | (time.Month << 5) | time.Day));
    }

    private static bool IsLarge(in ZipEntry entry) => entry.Size >= LargeSize;

    private static uint Limited(long value) => (uint)Math.Min(value, Full);
}
