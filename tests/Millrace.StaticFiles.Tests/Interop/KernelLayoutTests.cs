using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Tests.Interop;

/// <summary>
/// Sizes, offsets and constants against the kernel's own headers, by a C program compiled here; and against the values committed
/// below, which speak for both architectures and where there is no compiler.
/// </summary>
public class KernelLayoutTests
{
    /// <summary>What linux/openat2.h, linux/stat.h, fcntl.h and asm/unistd.h say, as x64 / arm64 where they differ.</summary>
    private static readonly (string Expression, long X64, long Arm64, long Ours)[] Layout =
    [
        ("sizeof(struct open_how)", 24, 24, Marshal.SizeOf<OpenHow>()),
        ("offsetof(struct open_how, flags)", 0, 0, OffsetOf<OpenHow>(nameof(OpenHow.Flags))),
        ("offsetof(struct open_how, mode)", 8, 8, OffsetOf<OpenHow>(nameof(OpenHow.Mode))),
        ("offsetof(struct open_how, resolve)", 16, 16, OffsetOf<OpenHow>(nameof(OpenHow.Resolve))),
        ("sizeof(struct statx)", 256, 256, Marshal.SizeOf<Statx>()),
        ("offsetof(struct statx, stx_mask)", 0, 0, OffsetOf<Statx>(nameof(Statx.Mask))),
        ("offsetof(struct statx, stx_mode)", 28, 28, OffsetOf<Statx>(nameof(Statx.Mode))),
        ("offsetof(struct statx, stx_ino)", 32, 32, OffsetOf<Statx>(nameof(Statx.Inode))),
        ("offsetof(struct statx, stx_size)", 40, 40, OffsetOf<Statx>(nameof(Statx.SizeBytes))),
        ("offsetof(struct statx, stx_ctime)", 96, 96, OffsetOf<Statx>(nameof(Statx.ChangedAt))),
        ("offsetof(struct statx, stx_mtime)", 112, 112, OffsetOf<Statx>(nameof(Statx.ModifiedAt))),
        ("offsetof(struct statx, stx_dev_major)", 136, 136, OffsetOf<Statx>(nameof(Statx.DeviceMajor))),
        ("offsetof(struct statx, stx_dev_minor)", 140, 140, OffsetOf<Statx>(nameof(Statx.DeviceMinor))),
        ("sizeof(struct statx_timestamp)", 16, 16, Marshal.SizeOf<StatxTimestamp>()),
        ("offsetof(struct statx_timestamp, tv_sec)", 0, 0, OffsetOf<StatxTimestamp>(nameof(StatxTimestamp.Seconds))),
        ("offsetof(struct statx_timestamp, tv_nsec)", 8, 8, OffsetOf<StatxTimestamp>(nameof(StatxTimestamp.Nanoseconds))),
        ("sizeof(struct rlimit)", 16, 16, Marshal.SizeOf<ResourceLimit>()),
        ("offsetof(struct rlimit, rlim_cur)", 0, 0, OffsetOf<ResourceLimit>(nameof(ResourceLimit.Soft))),
        ("offsetof(struct rlimit, rlim_max)", 8, 8, OffsetOf<ResourceLimit>(nameof(ResourceLimit.Hard))),
        ("STATX_TYPE", 0x001, 0x001, (long)StatxMask.Type),
        ("STATX_MTIME", 0x040, 0x040, (long)StatxMask.ModifiedAt),
        ("STATX_CTIME", 0x080, 0x080, (long)StatxMask.ChangedAt),
        ("STATX_INO", 0x100, 0x100, (long)StatxMask.Inode),
        ("STATX_SIZE", 0x200, 0x200, (long)StatxMask.Size),
        ("RESOLVE_NO_XDEV", 1, 1, (long)ResolveFlags.NoMountCrossing),
        ("RESOLVE_NO_MAGICLINKS", 2, 2, (long)ResolveFlags.NoMagicLinks),
        ("RESOLVE_NO_SYMLINKS", 4, 4, (long)ResolveFlags.NoSymlinks),
        ("RESOLVE_BENEATH", 8, 8, (long)ResolveFlags.Beneath),
        ("RESOLVE_IN_ROOT", 16, 16, (long)ResolveFlags.InRoot),
        ("RESOLVE_CACHED", 32, 32, (long)ResolveFlags.Cached),
        ("O_RDONLY", 0, 0, (long)OpenFlags.ReadOnly),
        ("O_NONBLOCK", 0x800, 0x800, (long)OpenFlags.NonBlock),
        ("O_CLOEXEC", 0x80000, 0x80000, (long)OpenFlags.CloseOnExec),
        ("O_PATH", 0x200000, 0x200000, (long)OpenFlags.Path),
        ("O_DIRECTORY", 0x10000, 0x4000, (long)OpenFlags.Directory),
        ("O_NOFOLLOW", 0x20000, 0x8000, (long)OpenFlags.NoFollow),
        ("S_IFMT", 0xf000, 0xf000, (long)FileType.Mask),
        ("S_IFIFO", 0x1000, 0x1000, (long)FileType.Fifo),
        ("S_IFCHR", 0x2000, 0x2000, (long)FileType.CharacterDevice),
        ("S_IFDIR", 0x4000, 0x4000, (long)FileType.Directory),
        ("S_IFBLK", 0x6000, 0x6000, (long)FileType.BlockDevice),
        ("S_IFREG", 0x8000, 0x8000, (long)FileType.Regular),
        ("S_IFLNK", 0xa000, 0xa000, (long)FileType.Symlink),
        ("S_IFSOCK", 0xc000, 0xc000, (long)FileType.Socket),
        ("AT_FDCWD", -100, -100, FileCalls.WorkingDirectory),
        ("SYS_getdents64", 217, 61, FileCalls.GetDents64NumberOn(RuntimeInformation.ProcessArchitecture)),
        ("EPERM", 1, 1, Errno.EPERM),
        ("ENOENT", 2, 2, Errno.ENOENT),
        ("EINTR", 4, 4, Errno.EINTR),
        ("EIO", 5, 5, Errno.EIO),
        ("ENXIO", 6, 6, Errno.ENXIO),
        ("EAGAIN", 11, 11, Errno.EAGAIN),
        ("ENOMEM", 12, 12, Errno.ENOMEM),
        ("EACCES", 13, 13, Errno.EACCES),
        ("EXDEV", 18, 18, Errno.EXDEV),
        ("ENOTDIR", 20, 20, Errno.ENOTDIR),
        ("EISDIR", 21, 21, Errno.EISDIR),
        ("EINVAL", 22, 22, Errno.EINVAL),
        ("ENFILE", 23, 23, Errno.ENFILE),
        ("EMFILE", 24, 24, Errno.EMFILE),
        ("ENAMETOOLONG", 36, 36, Errno.ENAMETOOLONG),
        ("ENOSYS", 38, 38, Errno.ENOSYS),
        ("ELOOP", 40, 40, Errno.ELOOP),
    ];

    [Fact]
    public void Ours_are_the_committed_values_of_this_architecture()
    {
        foreach ((string expression, long x64, long arm64, long ours) in Layout)
        {
            long expected = Committed(x64, arm64);
            Assert.True(expected == ours, $"{expression} is {expected}, ours {ours}");
        }
    }

    [Fact]
    public void The_other_architecture_gets_its_own_numbers()
    {
        Assert.Equal(0x4000UL, OpenFlags.DirectoryOn(Architecture.Arm64));
        Assert.Equal(0x10000UL, OpenFlags.DirectoryOn(Architecture.X64));
        Assert.Equal(0x8000UL, OpenFlags.NoFollowOn(Architecture.Arm64));
        Assert.Equal(0x20000UL, OpenFlags.NoFollowOn(Architecture.X64));
        Assert.Equal(61, FileCalls.GetDents64NumberOn(Architecture.Arm64));
        Assert.Equal(217, FileCalls.GetDents64NumberOn(Architecture.X64));
        Assert.Throws<PlatformNotSupportedException>(() => OpenFlags.DirectoryOn(Architecture.X86));
    }

    [Fact]
    public async Task The_committed_values_are_those_of_the_kernels_headers()
    {
        long[]? compiled = await CompileAndRunAsync();
        // Without a compiler the committed values stand alone; the test above compares ours with them either way.
        long[] expected = compiled ?? [.. Layout.Select(row => Committed(row.X64, row.Arm64))];

        Assert.Equal(Layout.Length, expected.Length);
        for (int i = 0; i < Layout.Length; i++)
        {
            Assert.True(expected[i] == Layout[i].Ours, $"{Layout[i].Expression} is {expected[i]}, ours {Layout[i].Ours}");
        }
    }

    private static long Committed(long x64, long arm64) =>
        RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? arm64 : x64;

    private static async Task<long[]?> CompileAndRunAsync()
    {
        DirectoryInfo directory = Directory.CreateTempSubdirectory("millrace-layout-");
        try
        {
            string source = Path.Combine(directory.FullName, "layout.c");
            string program = Path.Combine(directory.FullName, "layout");
            // statx comes from sys/stat.h: with _GNU_SOURCE glibc takes it from the kernel's header.
            string[] lines =
            [
                "#define _GNU_SOURCE",
                "#include <errno.h>", "#include <fcntl.h>", "#include <linux/openat2.h>", "#include <stddef.h>", "#include <stdio.h>",
                "#include <sys/resource.h>", "#include <sys/stat.h>", "#include <sys/syscall.h>",
                "int main(void) {",
                .. Layout.Select(row => $"printf(\"%lld\\n\", (long long)({row.Expression}));"),
                "return 0; }",
            ];
            await File.WriteAllLinesAsync(source, lines);
            if (await RunAsync("gcc", "-o", program, source) is null)
            {
                return null;
            }

            string[] printed = (await RunAsync(program))!.Split('\n', StringSplitOptions.RemoveEmptyEntries);
            return [.. printed.Select(line => long.Parse(line, CultureInfo.InvariantCulture))];
        }
        finally
        {
            directory.Delete(recursive: true);
        }
    }

    /// <summary>What a program printed, or null where there is no such program. One that fails fails the test.</summary>
    private static async Task<string?> RunAsync(string program, params string[] arguments)
    {
        try
        {
            var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
            using Process process = Process.Start(start)!;
            Task<string> errors = process.StandardError.ReadToEndAsync();
            string output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            Assert.True(process.ExitCode == 0, await errors);
            return output;
        }
        catch (Win32Exception missing) when (missing.NativeErrorCode == Errno.ENOENT)
        {
            return null;
        }
    }

    private static long OffsetOf<T>(string field)
        where T : struct => (long)Marshal.OffsetOf<T>(field);
}
