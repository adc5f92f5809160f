using System.Text;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Acme.Storage;

/// <summary>
/// The store's own folders, and its lock, in the one that is configured. By the process that holds the lock; what fails is logged.
/// </summary>
internal static class StoreFolders
{
    public const string Lock = "lock";
    public const string Accounts = "accounts";
    public const string Certificates = "certificates";
    public const string Challenges = "challenges";

    private const UnixFileMode OfFiles = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const UnixFileMode OfFolders = OfFiles | UnixFileMode.UserExecute;
    private const UnixFileMode Others = UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.GroupExecute
        | UnixFileMode.OtherRead | UnixFileMode.OtherWrite | UnixFileMode.OtherExecute;

    /// <summary>Links may lead to files of others.</summary>
    private static readonly EnumerationOptions WithoutLinks = new() { AttributesToSkip = FileAttributes.ReparsePoint };

    /// <summary>
    /// Removes what a killed holder has left (half written files, challenges), and has folders and files be for their owner only again:
    /// Kubernetes lets a group read all of a volume at each mount.
    /// </summary>
    public static void Restore(string directory, AcmeLog log)
    {
        RestoreMode(Path.Combine(directory, Lock), OfFiles, log);
        string challenges = Path.Combine(directory, Challenges);
        foreach (string left in FilesIn(challenges))
        {
            File.Delete(left);
        }

        RestoreMode(challenges, OfFolders, log);
        foreach (string folder in (string[])[Path.Combine(directory, Accounts), Path.Combine(directory, Certificates)])
        {
            RestoreMode(folder, OfFolders, log);
            foreach (string entry in Directory.Exists(folder) ? Directory.EnumerateDirectories(folder, "*", WithoutLinks) : [])
            {
                RestoreMode(entry, OfFolders, log);
                foreach (string file in FilesIn(entry))
                {
                    if (file.EndsWith(AtomicFiles.TemporarySuffix, StringComparison.Ordinal))
                    {
                        File.Delete(file);
                    }
                    else
                    {
                        RestoreMode(file, OfFiles, log);
                    }
                }
            }
        }
    }

    private static IEnumerable<string> FilesIn(string folder) =>
        Directory.Exists(folder) ? Directory.EnumerateFiles(folder, "*", WithoutLinks) : [];

    private static void RestoreMode(string path, UnixFileMode mode, AcmeLog log)
    {
        if (RestoreMode(path, mode) is { } problem)
        {
            log.ModeKept(path, problem);
        }
    }

    /// <summary>
    /// Has a file or a folder be for its owner only, if it exists. By a descriptor, since a member of the group may have put a link in its
    /// place. Returns why that fails; null if it does not.
    /// </summary>
    internal static string? RestoreMode(string path, UnixFileMode mode)
    {
        int descriptor = FileCalls.OpenAt2(FileCalls.WorkingDirectory, Encoding.UTF8.GetBytes(path + '\0'), new OpenHow
        {
            Flags = OpenFlags.ReadOnly | OpenFlags.NoFollow | OpenFlags.NonBlock | OpenFlags.CloseOnExec,
        });
        if (descriptor < 0)
        {
            return descriptor == -Errno.ENOENT ? null : FileProblem.Of(path, descriptor);
        }

        using var handle = new SafeFileHandle(descriptor, ownsHandle: true);
        try
        {
#pragma warning disable CA1416 // Millrace runs only on Linux.
            if ((File.GetUnixFileMode(handle) & Others) != 0)
            {
                File.SetUnixFileMode(handle, mode);
            }
#pragma warning restore CA1416

            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return FileProblem.Of(path, e);
        }
    }
}
