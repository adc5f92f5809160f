using System.Text;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Interop;

/// <summary>Calls return what the kernel says, and -errno where it refuses.</summary>
public sealed unsafe class FileCallsTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Errors_come_back_negated()
    {
        byte buffer = 0;
        Assert.Equal(-Errno.ENOENT, Open("/nowhere/at/all", OpenFlags.ReadOnly));
        Assert.Equal(-Errno.ENOTDIR, Open(_site.File("f", "x"), OpenFlags.ReadOnly | OpenFlags.Directory));
        Assert.Equal(-Errno.EINVAL, Open("/", 1UL << 62));
        Assert.Equal(-9, FileCalls.Close(-1));
        Assert.Equal(-9, FileCalls.PositionalRead(-1, &buffer, 1, 0));
        Assert.Equal(-9, FileCalls.PositionalReadCached(-1, &buffer, 1, 0));
        Assert.Equal(-9, FileCalls.ReadDirectory(-1, new byte[100]));
        Assert.Equal(-9, FileCalls.StatDescriptor(-1, StatxMask.Size, out Statx _));
    }

    [Fact]
    public void The_stat_of_an_entry_is_its_own_and_that_of_a_path_follows_symlinks()
    {
        _site.File("target", "12345");
        _site.Symlink("link", "target");
        using var root = new Descriptor(Open(_site.Root, OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec));
        const StatxMask Mask = StatxMask.Type | StatxMask.Size;

        Assert.Equal(0, FileCalls.StatEntry(root.Fd, "target\0"u8, Mask, out Statx entry));
        Assert.Equal((FileType.Regular, 5UL), (entry.Type, entry.SizeBytes));
        Assert.Equal(0, FileCalls.StatEntry(root.Fd, "link\0"u8, Mask, out entry));
        Assert.Equal(FileType.Symlink, entry.Type);
        Assert.Equal(0, FileCalls.StatPath(root.Fd, "link\0"u8, Mask, out Statx followed));
        Assert.Equal((FileType.Regular, 5UL), (followed.Type, followed.SizeBytes));
        Assert.Equal(-Errno.ENOENT, FileCalls.StatEntry(root.Fd, "nothing\0"u8, Mask, out entry));
        Assert.Equal(-Errno.ENOENT, FileCalls.StatPath(root.Fd, "nothing\0"u8, Mask, out followed));
    }

    [Fact]
    public void Resolve_flags_reach_the_kernel()
    {
        _site.Symlink("up", "..");
        using var root = new Descriptor(Open(_site.Root, OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec));

        Assert.Equal(-Errno.EXDEV, Resolve(root, "up\0"u8, ResolveFlags.Beneath));
        Assert.Equal(-Errno.EXDEV, Resolve(root, "/\0"u8, ResolveFlags.Beneath));
        Assert.Equal(-Errno.ELOOP, Resolve(root, "up\0"u8, ResolveFlags.NoSymlinks));
        Assert.Equal(-Errno.ELOOP, Resolve(root, "/proc/self/exe\0"u8, ResolveFlags.NoMagicLinks));
        using var clamped = new Descriptor(Resolve(root, "up\0"u8, ResolveFlags.InRoot));
        using var free = new Descriptor(Resolve(root, "up\0"u8, ResolveFlags.None));
        Assert.True(clamped.Fd >= 0 && free.Fd >= 0);
    }

    [Fact]
    public void No_follow_is_the_flag_of_this_machine()
    {
        _site.Symlink("link", "nowhere");

        Assert.Equal(-Errno.ELOOP, Open(_site.PathOf("link"), OpenFlags.ReadOnly | OpenFlags.NoFollow));
    }

    [Fact]
    public void Statx_and_reads_agree_on_the_file()
    {
        string full = _site.File("f", "0123456789");
        File.SetLastWriteTimeUtc(full, DateTime.UnixEpoch.AddTicks(12_345_678_901_234_567));
        using var file = new Descriptor(Open(full, OpenFlags.ReadOnly | OpenFlags.CloseOnExec));
        byte[] buffer = new byte[4];

        Assert.Equal(0, FileCalls.StatDescriptor(file.Fd, StatxMask.Size | StatxMask.Type | StatxMask.ModifiedAt, out Statx statx));
        Assert.Equal(10UL, statx.SizeBytes);
        Assert.Equal(FileType.Regular, statx.Type);
        Assert.Equal(1_234_567_890_123_456_700, statx.ModifiedAt.ToUnixNs());
        Assert.Equal(StatxMask.Size, statx.Mask & StatxMask.Size);
        fixed (byte* bytes = buffer)
        {
            Assert.Equal(4, FileCalls.PositionalRead(file.Fd, bytes, 4, 3));
            Assert.Equal("3456"u8, buffer);
            Assert.Equal(2, FileCalls.PositionalRead(file.Fd, bytes, 4, 8));
            Assert.Equal(0, FileCalls.PositionalRead(file.Fd, bytes, 4, 10));
            // Written a moment ago, so the page cache has it.
            Assert.Equal(4, FileCalls.PositionalReadCached(file.Fd, bytes, 4, 5));
            Assert.Equal("5678"u8, buffer);
        }
    }

    [Fact]
    public void Listing_a_directory_names_all_its_entries_over_many_calls()
    {
        string[] names = [.. Enumerable.Range(0, 300).Select(i => $"entry-{i}-{new string('n', i % 200)}")];
        foreach (string name in names)
        {
            _site.File(name, "");
        }

        using var root = new Descriptor(Open(_site.Root, OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec));
        var listed = new List<string>();
        byte[] records = new byte[1024];
        int recordBytes;
        int calls = 0;
        while ((recordBytes = FileCalls.ReadDirectory(root.Fd, records)) > 0)
        {
            calls++;
            var entries = new DirectoryEntries(records.AsSpan(0, recordBytes));
            while (entries.MoveNext())
            {
                listed.Add(Encoding.UTF8.GetString(entries.Name));
            }
        }

        Assert.Equal(0, recordBytes);
        Assert.True(calls > 10);
        Assert.Equal(names.Order(StringComparer.Ordinal), listed.Order(StringComparer.Ordinal));
    }

    [Theory]
    [InlineData(0, 0, 0)]
    [InlineData(-1, 999_999_999, -1)]
    [InlineData(1, 1, 1_000_000_001)]
    [InlineData(9_223_372_036, 854_775_807, long.MaxValue)]
    [InlineData(9_223_372_036, 854_775_808, long.MaxValue)]
    [InlineData(long.MaxValue, 0, long.MaxValue)]
    [InlineData(long.MinValue, 0, long.MinValue)]
    public void Times_saturate_where_64_bits_of_nanoseconds_end(long seconds, uint nanoseconds, long ns) =>
        Assert.Equal(ns, new StatxTimestamp { Seconds = seconds, Nanoseconds = nanoseconds }.ToUnixNs());

    private static int Open(string path, ulong flags) =>
        FileCalls.OpenAt2(FileCalls.WorkingDirectory, Encoding.UTF8.GetBytes(path + '\0'), new OpenHow { Flags = flags });

    private static int Resolve(Descriptor directory, ReadOnlySpan<byte> pathZ, ResolveFlags resolve) =>
        FileCalls.OpenAt2(directory.Fd, pathZ, new OpenHow { Flags = OpenFlags.Path | OpenFlags.CloseOnExec, Resolve = resolve });

    private sealed class Descriptor(int fd) : IDisposable
    {
        public int Fd => fd;

        public void Dispose() => Assert.Equal(0, FileCalls.Close(fd));
    }
}
