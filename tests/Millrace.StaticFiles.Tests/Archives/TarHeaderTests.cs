using System.Diagnostics;
using System.Formats.Tar;
using System.IO.Compression;
using System.Text;
using Millrace.StaticFiles.Archives;

namespace Millrace.StaticFiles.Tests.Archives;

public class TarHeaderTests
{
    [Fact]
    public void A_plain_file_has_one_block()
    {
        byte[] expected = new byte[512];
        "dir/a.txt"u8.CopyTo(expected);
        "0000644\00000000\00000000\000000000017\014042137410\0"u8.CopyTo(expected.AsSpan(100));
        "        0"u8.CopyTo(expected.AsSpan(148));
        "ustar\0"u8.CopyTo(expected.AsSpan(257));
        "00"u8.CopyTo(expected.AsSpan(263));
        "0000000\00000000\0"u8.CopyTo(expected.AsSpan(329));
        int sum = expected.Sum(static value => value);
        Encoding.ASCII.GetBytes($"{Convert.ToString(sum, 8).PadLeft(6, '0')}\0 ").CopyTo(expected, 148);

        Assert.Equal(expected, TarHeader.Of("dir/a.txt"u8, 15, isDirectory: false, Convert.ToInt64("14042137410", 8)));
    }

    [Theory]
    [InlineData("a/", 0, true, 1_600_000_000)]
    [InlineData("grüße.txt", 3, false, 1_600_000_000)]
    [InlineData("a", 8_589_934_591, false, 0)]
    [InlineData("a", 8_589_934_592, false, 8_589_934_591)]
    [InlineData("a", 5_000_000_000_000, false, 8_589_934_592)]
    [InlineData("a", 1, false, -1)]
    public void It_is_read_as_it_was_meant(string name, long size, bool isDirectory, long modifiedAt)
    {
        byte[] header = TarHeader.Of(Encoding.UTF8.GetBytes(name), size, isDirectory, modifiedAt);

        // A stream without positions: the content is not there.
        using var packed = new MemoryStream();
        using (var gzip = new GZipStream(packed, CompressionMode.Compress, leaveOpen: true))
        {
            gzip.Write(header);
        }

        packed.Position = 0;
        using var reader = new TarReader(new GZipStream(packed, CompressionMode.Decompress));
        TarEntry entry = reader.GetNextEntry()!;
        Assert.Equal(name, entry.Name);
        Assert.Equal(size, entry.Length);
        Assert.Equal(isDirectory ? TarEntryType.Directory : TarEntryType.RegularFile, entry.EntryType);
        Assert.Equal(modifiedAt, entry.ModificationTime.ToUnixTimeSeconds());
    }

    /// <summary>The content is a hole in the archive, over which it seeks.</summary>
    [Theory]
    [InlineData(8_589_934_591)]
    [InlineData(8_589_934_593)]
    public async Task Gnu_tar_reads_a_file_beyond_the_octal_digits_and_the_next_one(long size)
    {
        Assert.SkipUnless(File.Exists("/usr/bin/tar") || File.Exists("/bin/tar"), "GNU tar is not installed.");
        string file = Path.GetTempFileName();
        try
        {
            WriteArchiveWithHole(file, size);
            Assert.Matches(
                $@"\A\S+ 0/0 +{size} \S+ \S+ site/a\.txt\n\S+ 0/0 +9 \S+ \S+ site/b\.txt\n\z",
                await RunTarAsync("tvf", file, "--numeric-owner"));
            Assert.Equal("behind it", await RunTarAsync("xOf", file, "site/b.txt"));
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Theory]
    [InlineData(99)]
    [InlineData(100)]
    [InlineData(101)]
    [InlineData(985)]
    [InlineData(986)]
    [InlineData(987)]
    [InlineData(4000)]
    public void A_name_may_have_any_length(int length)
    {
        string name = new('n', length);

        byte[] header = TarHeader.Of(Encoding.UTF8.GetBytes(name), 0, isDirectory: false, 1);

        Assert.Equal(0, header.Length % 512);
        Assert.Equal(length > 100, header.Length > 512);
        using var reader = new TarReader(new MemoryStream([.. header, .. new byte[1024]]));
        Assert.Equal(name, reader.GetNextEntry()!.Name);
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(1, 511)]
    [InlineData(511, 1)]
    [InlineData(512, 0)]
    [InlineData(513, 511)]
    public void Content_ends_with_a_full_block(long size, int padding) => Assert.Equal(padding, TarHeader.PaddingBytes(size));

    private static void WriteArchiveWithHole(string file, long size)
    {
        using FileStream archive = File.OpenWrite(file);
        archive.Write(TarHeader.Of("site/a.txt"u8, size, isDirectory: false, 1));
        archive.Seek(size + TarHeader.PaddingBytes(size), SeekOrigin.Current);
        archive.Write([.. TarHeader.Of("site/b.txt"u8, 9, isDirectory: false, 1), .. "behind it"u8]);
        archive.SetLength(archive.Position + TarHeader.PaddingBytes(9) + (2 * TarHeader.BlockBytes));
    }

    private static async Task<string> RunTarAsync(params string[] arguments)
    {
        using Process tar = Process.Start(new ProcessStartInfo("tar", arguments) { RedirectStandardOutput = true })!;
        string output = await tar.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await tar.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.Equal(0, tar.ExitCode);
        return output;
    }
}
