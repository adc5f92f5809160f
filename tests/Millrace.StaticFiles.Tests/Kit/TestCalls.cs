using System.Runtime.InteropServices;
using System.Text;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>System calls that only tests make.</summary>
internal static unsafe partial class TestCalls
{
    [LibraryImport("libc", EntryPoint = "mkfifo", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int MakeFifo(string path, uint mode);

    /// <summary>A second name for a file.</summary>
    [LibraryImport("libc", EntryPoint = "link", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Link(string path, string second);

    /// <summary>.NET's own move refuses symlinks whose target it cannot see.</summary>
    [LibraryImport("libc", EntryPoint = "rename", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Rename(string from, string to);

    [LibraryImport("libc", EntryPoint = "chmod", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int ChangeMode(string path, uint mode);

    /// <summary>Drops this thread's rights on files to those of a user id. Root's override of permissions goes with it.</summary>
    [LibraryImport("libc", EntryPoint = "setfsuid")]
    public static partial int SetFileSystemUser(uint userId);

    [LibraryImport("libc", EntryPoint = "mallinfo2")]
    private static partial MallocInfo LibcMallInfo2();

    [LibraryImport("libc", EntryPoint = "inotify_init1")]
    public static partial int InotifyInit(int flags);

    [LibraryImport("libc", EntryPoint = "inotify_add_watch", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int InotifyAddWatch(int fd, string path, uint mask);

    [LibraryImport("libc", EntryPoint = "read")]
    public static partial nint Read(int fd, byte* buffer, nuint bufferBytes);

    [LibraryImport("libc", EntryPoint = "creat")]
    private static partial int LibcCreat(byte* path, uint mode);

    [LibraryImport("libc", EntryPoint = "unlink")]
    private static partial int LibcUnlink(byte* path);

    [LibraryImport("libc", EntryPoint = "close")]
    private static partial int LibcClose(int fd);

    [LibraryImport("libc", EntryPoint = "readlink", StringMarshalling = StringMarshalling.Utf8)]
    private static partial nint LibcReadLink(string path, byte* target, nuint targetBytes);

    /// <summary>What malloc has handed out in this process and not got back: from its heaps and by mappings of their own.</summary>
    public static long NativeBytesInUse()
    {
        MallocInfo info = LibcMallInfo2();
        return (long)(info.HeapBytesInUse + info.MappedBytes);
    }

    /// <summary>Creates an empty file whose name need not be UTF-8.</summary>
    public static void CreateFile(string directory, byte[] name)
    {
        byte[] pathZ = [.. Encoding.UTF8.GetBytes(directory), (byte)'/', .. name, 0];
        fixed (byte* path = pathZ)
        {
            int fd = LibcCreat(path, 0x1a4);
            Assert.True(fd >= 0);
            Assert.Equal(0, LibcClose(fd));
        }
    }

    /// <summary>Removes what <see cref="CreateFile"/> made: .NET cannot name it.</summary>
    public static void RemoveFile(string directory, byte[] name)
    {
        byte[] pathZ = [.. Encoding.UTF8.GetBytes(directory), (byte)'/', .. name, 0];
        fixed (byte* path = pathZ)
        {
            Assert.Equal(0, LibcUnlink(path));
        }
    }

    /// <summary><c>struct mallinfo2</c>: hblkhd and uordblks of it.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 80)]
    private struct MallocInfo
    {
        [FieldOffset(32)] public nuint MappedBytes;
        [FieldOffset(56)] public nuint HeapBytesInUse;
    }

    public static string? TryReadLink(string path)
    {
        Span<byte> target = stackalloc byte[4096];
        fixed (byte* targetPtr = target)
        {
            nint bytes = LibcReadLink(path, targetPtr, (nuint)target.Length);
            return bytes < 0 ? null : Encoding.UTF8.GetString(target[..(int)bytes]);
        }
    }
}
