using System.Buffers.Binary;
using System.Text;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Archives;

/// <summary>The records byte for byte, also of sizes that no test has the time for.</summary>
public class ZipRecordsTests
{
    private const long Large = 5_000_000_000;

    private static readonly ArchiveSubtree Top = new("d"u8.ToArray(), "/d"u8.ToArray(), SitePath.Of("/d"u8));

    [Fact]
    public void A_directory_is_stored_without_a_descriptor()
    {
        string expected = "50-4B-03-04-14-00-00-00-00-00" + "-00-00-21-28" + "-00-00-00-00" + "-00-00-00-00-00-00-00-00" + "-02-00-09-00"
            + "-64-2F" + "-55-54-05-00-01-80-43-6D-38";

        // The first day of 2000.
        Assert.Equal(expected, Written(output => ZipRecords.WriteLocalHeader(output, Entry(0, 0))));
    }

    [Fact]
    public void A_large_entry_has_sizes_of_64_bits()
    {
        ZipEntry entry = Entry(Large, 6_000_000_000) with { Crc = 0x12345678, CompressedSize = 4_900_000_000 };

        byte[] local = Bytes(output => ZipRecords.WriteLocalHeader(output, entry));
        Assert.Equal(45, BinaryPrimitives.ReadUInt16LittleEndian(local.AsSpan(4)));
        Assert.Equal(8, BinaryPrimitives.ReadUInt16LittleEndian(local.AsSpan(6)));
        Assert.Equal(ulong.MaxValue, BinaryPrimitives.ReadUInt64LittleEndian(local.AsSpan(18)));
        Assert.Equal("01-00-10-00-00-00-00-00-00-00-00-00-00-00-00-00-00-00-00-00", BitConverter.ToString(local[^20..]));

        Assert.Equal(
            "50-4B-07-08-78-56-34-12-" + Hex(4_900_000_000) + "-" + Hex(Large), Written(output => ZipRecords.WriteDescriptor(output, entry)));

        byte[] central = Bytes(output => ZipRecords.WriteCentralHeader(output, entry));
        Assert.Equal(ulong.MaxValue, BinaryPrimitives.ReadUInt64LittleEndian(central.AsSpan(20)));
        Assert.Equal(uint.MaxValue, BinaryPrimitives.ReadUInt32LittleEndian(central.AsSpan(42)));
        Assert.Equal(
            "01-00-18-00-" + Hex(Large) + "-" + Hex(4_900_000_000) + "-" + Hex(6_000_000_000), BitConverter.ToString(central[^28..]));
    }

    [Fact]
    public void A_small_entry_at_a_large_offset_has_only_that_in_64_bits()
    {
        ZipEntry entry = Entry(10, uint.MaxValue) with { Crc = 1, CompressedSize = 12 };

        Assert.Equal("50-4B-07-08-01-00-00-00-0C-00-00-00-0A-00-00-00", Written(output => ZipRecords.WriteDescriptor(output, entry)));
        byte[] central = Bytes(output => ZipRecords.WriteCentralHeader(output, entry));
        Assert.Equal("01-00-08-00-" + Hex(uint.MaxValue), BitConverter.ToString(central[^12..]));
    }

    [Theory]
    [InlineData(65_534, 1_000, 22)]
    [InlineData(65_535, 1_000, 98)]
    [InlineData(1, 4_294_967_294, 22)]
    [InlineData(1, 4_294_967_295, 98)]
    public void The_end_has_64_bits_where_it_needs_them(int entries, long directoryAt, int length)
    {
        byte[] end = Bytes(output => ZipRecords.WriteEnd(output, entries, directoryAt, 50));

        Assert.Equal(length, end.Length);
        Assert.Equal(0x06054b50u, BinaryPrimitives.ReadUInt32LittleEndian(end.AsSpan(length - 22)));
        if (length > 22)
        {
            Assert.Equal(entries, BinaryPrimitives.ReadInt64LittleEndian(end.AsSpan(32)));
            Assert.Equal(directoryAt, BinaryPrimitives.ReadInt64LittleEndian(end.AsSpan(48)));
        }
    }

    [Theory]
    [InlineData(-1, "00-00-21-00", 0)]
    [InlineData(315_532_799, "00-00-21-00", 9)]
    [InlineData(1_614_834_368, "C4-28-64-52", 9)]
    [InlineData(4_000_000_000, "D4-38-42-E9", 0)]
    [InlineData(9_000_000_000, "7D-BF-9F-FF", 0)]
    public void Times_are_limited_to_what_the_formats_have(long seconds, string dos, int extraBytes)
    {
        var entry = new ZipEntry(new ArchiveEntry(Top, SitePath.Of("/d"u8), null, seconds * 1_000_000_000), 0, 0);

        byte[] local = Bytes(output => ZipRecords.WriteLocalHeader(output, entry));

        Assert.Equal(extraBytes, BinaryPrimitives.ReadUInt16LittleEndian(local.AsSpan(28)));
        Assert.Equal(dos, BitConverter.ToString(local[10..14]));
    }

    [Theory]
    [InlineData("/d/a", 0)]
    [InlineData("/d/ü", 0x800)]
    [InlineData("/d/\u00fflatin", 0)]
    public void Names_in_utf8_are_marked(string path, int flags)
    {
        byte[] bytes = path.Contains("latin", StringComparison.Ordinal) ? Encoding.Latin1.GetBytes(path) : Encoding.UTF8.GetBytes(path);
        var entry = new ZipEntry(new ArchiveEntry(Top, SitePath.Of(bytes), null, 0), 0, 0);

        byte[] local = Bytes(output => ZipRecords.WriteLocalHeader(output, entry));

        Assert.Equal(flags, BinaryPrimitives.ReadUInt16LittleEndian(local.AsSpan(6)));
    }

    private static ZipEntry Entry(long size, long offset) => new(new ArchiveEntry(Top, SitePath.Of("/d"u8), null, 946_684_800_000_000_000), size, offset);

    private static string Hex(long value) => BitConverter.ToString(BitConverter.GetBytes(value));

    private static string Written(Action<ArchiveOutput> write) => BitConverter.ToString(Bytes(write));

    private static byte[] Bytes(Action<ArchiveOutput> write)
    {
        using var output = new ArchiveOutput();
        write(output);
        return output.Written.ToArray();
    }
}
