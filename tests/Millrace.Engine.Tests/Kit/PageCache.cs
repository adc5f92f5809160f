using System.Runtime.InteropServices;
using System.Text;
using Millrace.Interop.Files;

namespace Millrace.Engine.Tests.Kit;

/// <summary>What .NET has no call for: a file forgotten by the page cache, and a directory as a descriptor.</summary>
internal static partial class PageCache
{
    private const int DontNeed = 4;

    public static int Drop(string path)
    {
        using FileStream file = File.OpenRead(path);
        return posix_fadvise((int)file.SafeFileHandle.DangerousGetHandle(), 0, 0, DontNeed);
    }

    public static int OpenDirectory(string path) => FileCalls.OpenAt2(
        FileCalls.WorkingDirectory,
        [.. Encoding.UTF8.GetBytes(path), 0],
        new OpenHow { Flags = OpenFlags.Directory | OpenFlags.CloseOnExec });

    [LibraryImport("libc")]
    private static partial int posix_fadvise(int fd, long offset, long bytes, int advice);
}
