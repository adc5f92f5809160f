using System.Text;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop.Files;

namespace Millrace.Acme.Storage;

/// <summary>
/// Writes and removes files so that another process, or this one after a crash, finds each of them as it was before or as it is after:
/// under a temporary name, flushed to the disk, renamed. Readable by the owner only. One thread at a time for each file.
/// </summary>
/// <param name="step">Called before and after each step; tests stop here, as a process that is killed does.</param>
internal sealed class AtomicFiles(Action<string>? step = null)
{
    public const string TemporarySuffix = ".tmp";

    /// <exception cref="IOException">The disk is full, or the folder is gone.</exception>
    /// <exception cref="UnauthorizedAccessException">The folder does not let this user write.</exception>
    public void Write(string path, string content)
    {
        string temporary = path + TemporarySuffix;
        string name = Path.GetFileName(path);
        step?.Invoke($"before writing {name}");
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write };
#pragma warning disable CA1416 // Millrace runs only on Linux.
        options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
#pragma warning restore CA1416
        using (var file = new FileStream(temporary, options))
        {
            file.Write(Encoding.UTF8.GetBytes(content));
            file.Flush(flushToDisk: true);
        }

        step?.Invoke($"before renaming {name}");
        File.Move(temporary, path, overwrite: true);
        FlushDirectory(Path.GetDirectoryName(path)!);
        step?.Invoke($"after writing {name}");
    }

    public void Rename(string path, string newPath)
    {
        step?.Invoke($"before renaming {Path.GetFileName(path)}");
        File.Move(path, newPath);
        FlushDirectory(Path.GetDirectoryName(path)!);
    }

    public void Delete(string path)
    {
        step?.Invoke($"before deleting {Path.GetFileName(path)}");
        File.Delete(path);
        step?.Invoke($"after deleting {Path.GetFileName(path)}");
    }

    /// <summary>Makes the entry of a new file survive a loss of power. A file system that cannot do this is used without.</summary>
    private static void FlushDirectory(string path)
    {
        var how = new OpenHow { Flags = OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec };
        int fd = FileCalls.OpenAt2(FileCalls.WorkingDirectory, Encoding.UTF8.GetBytes(path + '\0'), how);
        if (fd >= 0)
        {
            using var handle = new SafeFileHandle(fd, ownsHandle: true);
            RandomAccess.FlushToDisk(handle);
        }
    }
}
