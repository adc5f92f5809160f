using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Server.Doctor;

/// <summary>
/// Reads facts about the folder that would be served: access, file system, and the number of directories that need a watch.
/// </summary>
internal static class RootReader
{
    private static readonly EnumerationOptions Everything = new()
    {
        RecurseSubdirectories = true,
        IgnoreInaccessible = true,
        AttributesToSkip = FileAttributes.ReparsePoint,
    };

    public static RootFacts Read(string root)
    {
        try
        {
            if (!Directory.Exists(root))
            {
                return Unreadable(root, File.Exists(root) ? "is not a directory" : "does not exist, or is not accessible");
            }

            string path = Directory.ResolveLinkTarget(root, returnFinalTarget: true)?.FullName ?? Path.GetFullPath(root);
            _ = Directory.EnumerateFileSystemEntries(path).Any();
            string mounts = KernelFile.TryRead("/proc/self/mountinfo") ?? "";
            string fileSystem = ProcFormats.FileSystemOf(mounts, path.Length > 1 ? path.TrimEnd('/') : path);
            long directories = 1 + Directory.EnumerateDirectories(path, "*", Everything).LongCount();
            return new RootFacts(root, null, fileSystem, TryCachedRead(path), directories);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return Unreadable(root, $"cannot be read ({refusal.Message})");
        }
    }

    private static RootFacts Unreadable(string root, string problem) => new(root, problem, "", CachedRead.Untried, 0);

    private static CachedRead TryCachedRead(string path)
    {
        string? file = Directory.EnumerateFiles(path, "*", Everything).FirstOrDefault(static file => new FileInfo(file).Length > 0);
        if (file is null)
        {
            return CachedRead.Untried;
        }

        using SafeFileHandle handle = File.OpenHandle(file);
        _ = RandomAccess.Read(handle, new byte[1], 0);
        return ReadCached(handle) switch
        {
            > 0 => CachedRead.Inline,
            -Errno.EAGAIN => CachedRead.WouldWait,
            -Errno.EOPNOTSUPP => CachedRead.Unsupported,
            _ => CachedRead.Untried,
        };
    }

    private static unsafe nint ReadCached(SafeFileHandle handle)
    {
        byte read;
        return FileCalls.PositionalReadCached((int)handle.DangerousGetHandle(), &read, 1, 0);
    }
}
