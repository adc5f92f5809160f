using System.Runtime.InteropServices;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>
/// Makes the files that this process has open fail with EIO: in place of each stands the process's own memory, read at addresses where
/// there is none (proc_pid_mem(5)), as the kernel answers for a disk that died.
/// </summary>
internal static partial class BadDisk
{
    /// <summary>Replaces every descriptor of the file, and says how many there were.</summary>
    public static int Fail(string path)
    {
        using FileStream unreadable = File.Open("/proc/self/mem", FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        int[] descriptors =
        [
            .. Directory.GetFiles("/proc/self/fd")
                .Where(link => new FileInfo(link).LinkTarget == path)
                .Select(static link => int.Parse(Path.GetFileName(link))),
        ];
        foreach (int descriptor in descriptors)
        {
            Assert.Equal(descriptor, dup2((int)unreadable.SafeFileHandle.DangerousGetHandle(), descriptor));
        }

        return descriptors.Length;
    }

    [LibraryImport("libc")]
    private static partial int dup2(int source, int target);
}
